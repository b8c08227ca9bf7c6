"""``multimargin serve``: a page and a JSON endpoint for a text model."""

from __future__ import annotations

import argparse

from multimargin.cli.support._messages import EXIT_OK, note
from multimargin.parallel._threads import thread_count
from multimargin.serving import Limits, Server


def serve(args: argparse.Namespace) -> int:
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
