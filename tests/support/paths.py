"""Where the repository is, and the data sets that may lie beside it."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("MULTIMARGIN_DATA", ROOT.parent / "shared" / "data"))
