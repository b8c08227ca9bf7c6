"""``multimargin serve``: a page and a JSON endpoint for a text model."""

from __future__ import annotations

import argparse

from multimargin.cli.support._common import EXIT_OK, add_threads, note, positive_int
from multimargin.parallel._threads import thread_count
from multimargin.serving import Limits, Server


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to the command."""
    limits = Limits()
    parser = commands.add_parser(
        "serve",
        help="a page to play with a text model, and JSON",
        description="Serve a page on which texts are typed and classified, and a JSON endpoint "
        "(POST /predict, described by /openapi.json), for a MODEL that was trained on texts. "
        "Only this machine can connect, unless --host says otherwise. Ctrl-C ends.",
    )
    parser.set_defaults(run=run)
    parser.add_argument("model", metavar="MODEL", help="a file written by 'multimargin train'")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen at (default: %(default)s, this machine alone; 0.0.0.0: all)",
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=8000,
        help="port to listen at (default: %(default)s; 0: a free one)",
    )
    parser.add_argument(
        "--processes",
        type=positive_int,
        default=1,
        metavar="N",
        help="processes that answer; they share the memory of the model (default: 1)",
    )
    parser.add_argument(
        "--max-bytes",
        type=positive_int,
        default=limits.max_bytes,
        metavar="N",
        help="largest body of a request (default: %(default)s)",
    )
    parser.add_argument(
        "--rate",
        type=_rate,
        default=limits.rate,
        metavar="N",
        help="requests per second of one client, counted by each process "
        "(default: %(default)g; 0: no limit)",
    )
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name by which the server may be called, besides localhost; again for more",
    )
    parser.add_argument(
        "--proxy",
        metavar="ADDRESS",
        help="address of a reverse proxy, whose X-Forwarded-For is believed",
    )
    parser.add_argument(
        "--example",
        action="append",
        default=[],
        metavar="TEXT",
        help="a text that the page offers; again for more",
    )
    add_threads(parser)


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


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return port


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = -1.0
    if not 0 <= rate < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return rate
