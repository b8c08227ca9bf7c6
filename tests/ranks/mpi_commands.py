"""Several ``multimargin`` commands in one process per rank: starting ranks takes seconds each.

As a program, given a file with a JSON list of argument lists; rank 0 prints each exit status.
"""

import json
import sys
from pathlib import Path

from multimargin import cli
from multimargin.parallel._mpi import world
from tests.support.mpi import mpiexec


def run_many(n, commands, folder):
    """Run the commands on ``n`` ranks; returns the lines of stdout."""
    (folder / "commands.json").write_text(json.dumps(commands))
    result = mpiexec(n, [__file__, folder / "commands.json"], timeout=120, cwd=folder)
    assert result.status == 0, result.output
    return result.stdout.splitlines()


def main(path):
    for argv in json.loads(Path(path).read_text()):
        status = cli.main(argv)
        if world().rank == 0:
            print(f"status {status}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
