"""A page and a JSON endpoint for a text model: ``multimargin serve MODEL``.

Starlette and uvicorn come with the extra: ``pip install "multimargin[serve]"``.
"""

from ._application import create_app
from ._limits import Limits
from ._server import Server

__all__ = ["Limits", "Server", "create_app"]
