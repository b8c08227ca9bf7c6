"""``multimargin serve``: a page and a JSON endpoint for a text model."""

from __future__ import annotations

import argparse
import math

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._messages import EXIT_OK, note
from multimargin.parallel._threads import thread_count
from multimargin.serving import Limits, Server

_LIMITS = Limits()
_COMMAND = f"""
serve: a page to play with a text model, and JSON

Serve a page on which texts are typed and classified, and a JSON endpoint (POST /predict, described
by /openapi.json), for a MODEL that was trained on texts. Only this machine can connect, unless
--host says otherwise. Ctrl-C ends.

{arguments.MODEL}
--host HOST = 127.0.0.1  address to listen at (default: 127.0.0.1, this machine alone; 0.0.0.0: all)
--port PORT = 8000  port to listen at (default: 8000; 0: a free one)
--processes N = 1   processes that answer; they share the memory of the model
--max-bytes N = {_LIMITS.max_bytes}  largest body of a request
--rate N = {_LIMITS.rate}  requests per second of one client, counted by each process
                    (default: {_LIMITS.rate:g}; 0: no limit)
--allow-host NAME   a name by which the server may be called, besides localhost; again for more
--proxy ADDRESS     address of a reverse proxy, whose X-Forwarded-For is believed
--example TEXT      a text that the page offers; again for more
{arguments.THREADS}
"""


@arguments.command(
    _COMMAND,
    port=arguments.checked(int, lambda port: 0 <= port <= 65535, "a port from 0 to 65535"),
    rate=arguments.checked(float, lambda rate: 0 <= rate < math.inf, "a number of at least 0"),
    allow_host={"action": "append", "default": []},
    example={"action": "append", "default": []},
)
def serve(args: argparse.Namespace) -> int:
    """Load, serve."""
    server = Server(
        args.model,
        host=args.host,
        port=args.port,
        processes=args.processes,
        threads=args.threads or max(1, thread_count(-1) // args.processes),
        limits=Limits(max_bytes=args.max_bytes, rate=args.rate),
        allow_hosts=args.allow_host,
        proxy=args.proxy,
        examples=args.example,
    )

    def started(url: str) -> None:
        note(f"serving {args.model} at {url} (Ctrl-C ends)")
        if not server.is_local:
            note(
                f"other machines can connect to {args.host}, without a password and unencrypted; "
                "--host 127.0.0.1 is for this machine alone"
            )

    server.run(started)
    return EXIT_OK
