"""The Chromium of this machine, and pages in it, for tests."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def chromium() -> dict[str, Any] | None:
    """Arguments for playwright's launch, or None where there is no Chromium."""
    named = os.environ.get("MULTIMARGIN_CHROMIUM")
    if named:
        return _launch(named)
    try:
        found = json.loads((Path(sys.prefix) / "chromium" / "chromium.json").read_text("utf-8"))
        if Path(found["executable"]).exists():
            return _launch(found["executable"], found["env"])
    except (OSError, ValueError, KeyError):
        pass
    for name in _NAMES:
        path = shutil.which(name)
        if path:
            return _launch(path)
    return _own_of_playwright()


def why_not() -> str:
    """Why there is none, as far as is known."""
    try:
        reasons = (Path(sys.prefix) / "chromium" / "why-not.txt").read_text("utf-8").split("\n")
    except OSError:
        reasons = []
    known = "; ".join(filter(None, reasons))
    return f"no Chromium: {known or 'set MULTIMARGIN_CHROMIUM, or run make test'}"


def opened(browser: Any, url: str, **options: Any) -> Any:
    """A new page; what it complains about is collected in `complaints`."""
    from playwright.sync_api import expect

    page = browser.new_context(**options).new_page()
    page.set_default_timeout(15_000)
    page.complaints = []
    page.on("console", lambda message: _note(page.complaints, message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation',"
        " (event) => console.error(`CSP: ${event.violatedDirective}`));"
    )
    page.goto(url)
    expect(page.locator("#name")).to_have_text(re.compile(r"\S"))
    return page


def _note(complaints: list[str], text: str) -> None:
    # A test that types before the browser has set the focus is faster than any person.
    if not text.startswith("Autofocus processing was blocked"):
        complaints.append(text)


def _launch(path: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "executable_path": path,
        "env": {**os.environ, **(env or {})},
        "args": ["--no-sandbox"],
    }


def _own_of_playwright() -> dict[str, Any] | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as library:
        path = library.chromium.executable_path
    return _launch(path) if Path(path).exists() else None
