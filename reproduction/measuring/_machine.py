"""The machine and the versions by which numbers were measured."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from urllib.parse import unquote, urlsplit

import joblib

import multimargin


def hardware() -> dict[str, str]:
    """Return processor, cores, memory and system; no host name, since reports are passed on."""
    return {
        "processor": _processor(),
        "cores": f"{joblib.cpu_count()} for this process",
        "memory": _memory(),
        "system": platform.platform(),
    }


def software() -> dict[str, str]:
    """Return the versions of the packages that affect the numbers."""
    names = ("numpy", "scipy", "scikit-learn", "mpi4py", "matplotlib")
    return {
        "multimargin": multimargin.__version__,
        "python": platform.python_version(),
        **{name: installed(name) for name in names},
    }


def machine_id() -> str:
    """Return a short name for this machine, made of its processor, cores and memory.

    Two machines of the same make have the same one: figures depend on that and not on who owns
    them. One of which this process may use fewer cores is another machine.
    """
    about = [_processor(), str(joblib.cpu_count()), _memory(), platform.system()]
    return "m" + hashlib.sha256("\n".join(about).encode()).hexdigest()[:6]


def load() -> str:
    """Return the load of the machine: the mean queue over 1, 5 and 15 minutes."""
    try:
        return " ".join(f"{mean:.2f}" for mean in os.getloadavg())
    except OSError:
        return "unknown"


def installed(name: str) -> str:
    """Return the version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def package_commit() -> str:
    """Return the commit of this package, and whether files differ from it."""
    here = Path(multimargin.__file__).resolve()
    # A virtual environment may lie inside somebody else's repository, whose commit says nothing:
    # only one that has this very file among its own is asked.
    if _git(here.parent, "ls-files", "--error-unmatch", here.name) is not None:
        return commit(here.parent)
    try:
        source = json.loads(distribution("multimargin").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        source = {}
    if "vcs_info" in source:
        return str(source["vcs_info"].get("commit_id", "unknown"))[:12]
    folder = unquote(urlsplit(str(source.get("url", ""))).path)
    if "dir_info" in source and _git(Path(folder), "rev-parse", "HEAD") is not None:
        return f"{commit(Path(folder))} in the folder it was installed from"
    return f"multimargin {multimargin.__version__} (no git repository)"


def commit(folder: Path) -> str:
    """Return the commit of a repository, and whether files differ from it."""
    head = _git(folder, "rev-parse", "--short=12", "HEAD")
    if head is None:
        return "unknown (no git repository)"
    # Files that git does not know are results more often than sources.
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return head + (" with changes" if changed else "")


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *words], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return next(iter(names), platform.processor() or platform.machine())


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return "unknown"
    return f"{total / 1e9:.1f} GB"
