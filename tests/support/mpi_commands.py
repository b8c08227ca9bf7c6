"""Several ``multimargin`` commands in one process per rank: starting ranks takes seconds each.

Given a file with a JSON list of argument lists; rank 0 prints the exit status of each command.
"""

import json
import sys
from pathlib import Path

from multimargin import cli
from multimargin.parallel._mpi import world


def main(path):
    for argv in json.loads(Path(path).read_text()):
        status = cli.main(argv)
        if world().rank == 0:
            print(f"status {status}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
