"""``python -m multimargin``: the same as the ``multimargin`` command."""

import sys

from multimargin.cli import main

sys.exit(main())
