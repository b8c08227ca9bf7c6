"""``multimargin serve``: a page and a JSON endpoint for a text model."""

from __future__ import annotations

import argparse
import math

from multimargin.cli.support import _arguments as arguments
from multimargin.cli.support._messages import EXIT_OK, note
from multimargin.parallel._threads import thread_count
from multimargin.serving import Limits, Server

_port = arguments.checked(int, lambda port: 0 <= port <= 65535, "a port from 0 to 65535")
_rate = arguments.checked(float, lambda rate: 0 <= rate < math.inf, "a number of at least 0")


def add_parser(commands: arguments.Commands[argparse.ArgumentParser]) -> None:
    limits = Limits()
    parser = arguments.add_command(
        commands,
        "serve",
        run,
        help="a page to play with a text model, and JSON",
        description="Serve a page on which texts are typed and classified, and a JSON endpoint "
        "(POST /predict, described by /openapi.json), for a MODEL that was trained on texts. "
        "Only this machine can connect, unless --host says otherwise. Ctrl-C ends.",
    )
    arguments.add_model(parser)
    add = arguments.adder(parser)
    add(
        "--host",
        default="127.0.0.1",
        help="address to listen at (default: %(default)s, this machine alone; 0.0.0.0: all)",
    )
    add(
        "--port",
        type=_port,
        default=8000,
        help="port to listen at (default: %(default)s; 0: a free one)",
    )
    add(
        "--processes",
        type=arguments.positive_int,
        default=1,
        help="processes that answer; they share the memory of the model",
    )
    add(
        "--max-bytes",
        type=arguments.positive_int,
        default=limits.max_bytes,
        help="largest body of a request (default: %(default)s)",
    )
    add(
        "--rate",
        type=_rate,
        default=limits.rate,
        metavar="N",
        help="requests per second of one client, counted by each process "
        "(default: %(default)g; 0: no limit)",
    )
    add(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name by which the server may be called, besides localhost; again for more",
    )
    add(
        "--proxy",
        metavar="ADDRESS",
        help="address of a reverse proxy, whose X-Forwarded-For is believed",
    )
    add(
        "--example",
        action="append",
        default=[],
        metavar="TEXT",
        help="a text that the page offers; again for more",
    )
    arguments.add_threads(parser)


def run(args: argparse.Namespace) -> int:
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
