"""A page and a JSON endpoint for a model: ``multimargin serve MODEL``.

Starlette and uvicorn come with the extra: ``pip install "multimargin[serve]"``.
"""

from multimargin.serving._build import create_app
from multimargin.serving._limits import Limits
from multimargin.serving._server import Server

__all__ = ["Limits", "Server", "create_app"]
