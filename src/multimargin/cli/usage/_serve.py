"""What ``multimargin serve`` takes."""

import math

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._choices import MOST_BYTES, RATE

_TEXT = f"""
serve: a page to try a model, and JSON

Serve a page to try MODEL on, and a JSON endpoint (POST /predict, described by /openapi.json), for
any MODEL: of texts, of columns, or of numbers such as embeddings. Only this machine can connect,
unless --host says otherwise. Ctrl-C ends.

{arguments.MODEL}
--host HOST = 127.0.0.1  address to listen at (default: 127.0.0.1, this machine alone; 0.0.0.0: all)
--port PORT = 8000  port to listen at (default: 8000; 0: a free one)
--processes N = 1   processes that answer; they share the memory of the model
--max-bytes N = {MOST_BYTES}  largest body of a request
--rate N = {RATE}  requests per second of one client, counted by each process
                    (default: {RATE:g}; 0: no limit)
--allow-host NAME   a name by which the server may be called, besides localhost; again for more
--proxy ADDRESS     address of a reverse proxy, whose X-Forwarded-For is believed
--example SAMPLE    a text, or a row as JSON, that the page offers; again for more (default: made
                    from the model)
{arguments.THREADS}

examples:
  multimargin serve model
  multimargin serve model --port 0 --example "where is my parcel"
"""

serve = arguments.Command(
    _TEXT,
    work="multimargin.cli._serve:serve",
    options={
        "port": arguments.checked(int, lambda port: 0 <= port <= 65535, "a port from 0 to 65535"),
        "rate": arguments.checked(
            float, lambda rate: 0 <= rate < math.inf, "a number of at least 0"
        ),
        "allow_host": {"action": "append", "default": []},
        "example": {"action": "append", "default": []},
    },
)
