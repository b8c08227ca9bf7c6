"""Folders of their own: peers that would overwrite each other, or bring a NumPy of their own.

``make peers`` installs each without its dependencies into ``peers/NAME`` of the environment, and
leaves ``why-not.txt`` there where it fails. Only the process that measures a peer looks into its
folder, so what is in there changes nothing for the others.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from benchmarks.peers import PEERS, PeerUnavailableError, peer

ROOT = Path(sys.prefix) / "peers"


def why_not(folder: str) -> str:
    """Why a peer is not there: what its installation said, or that there was none."""
    try:
        said = (ROOT / folder / "why-not.txt").read_text(encoding="utf-8").strip()
    except OSError:
        said = ""
    if said:
        return f"not installable here: {said.splitlines()[-1]}"
    return f"not installed: make peers, or make {ROOT.parent.name}/peers/{folder}/.installed"


def modules(folder: str, *names: str) -> list[Any]:
    """Import modules, from this folder before all others.

    Raises
    ------
    PeerUnavailableError
        If they are not there, or cannot be imported.
    """
    place = ROOT / folder
    if not (place / names[0].split(".")[0]).is_dir():
        raise PeerUnavailableError(why_not(folder))
    if str(place) not in sys.path:
        sys.path.insert(0, str(place))
    try:
        found = [import_module(name) for name in names]
    except (ImportError, OSError) as error:
        raise PeerUnavailableError(f"cannot be imported: {error}") from error
    stranger = next((str(m.__file__) for m in found if place not in _parents(m)), None)
    if stranger is not None:
        raise PeerUnavailableError(f"another one was imported before: {stranger}")
    return found


def _parents(module: Any) -> Any:
    return Path(str(module.__file__)).parents


def version(distribution: str, folder: str | None) -> str:
    """Of a distribution in a folder, or in the environment; "not installed" where there is none."""
    more: dict[str, Any] = {}
    if folder is not None:
        place = ROOT / folder
        own = place.glob(
            "environment/lib/python*/site-packages"
        )  # where it is an environment of its own
        more = {"path": [str(place), *map(str, own)]}
    found = next(iter(distributions(name=distribution, **more)), None)
    return "not installed" if found is None else found.version


def versions() -> dict[str, str]:
    """Of all peers but multimargin itself, by distribution."""
    found = {}
    for name in PEERS:
        if name != "multimargin":
            module = peer(name)
            found[module.DISTRIBUTION] = version(module.DISTRIBUTION, module.FOLDER)
    return found
