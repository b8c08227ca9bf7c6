"""A browser for the tests of the page, where there is none."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.paths import ROOT

pytest.importorskip("playwright")


def test_what_cannot_be_had_is_said(tmp_path):
    nowhere = "http://127.0.0.1:9"  # the discard port: nothing listens there
    env = {
        **os.environ,
        "MULTIMARGIN_CHROMIUM": str(tmp_path / "none"),
        "PATH": str(tmp_path),
        **dict.fromkeys(("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"), nowhere),
    }
    folder = tmp_path / "browser"
    script = ROOT / "tests" / "support" / "get_chromium.py"
    done = subprocess.run(
        [sys.executable, str(script), str(folder)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    reasons = (folder / "why-not.txt").read_text(encoding="utf-8")
    for way in ("named", "on path", "of playwright", "of npm", "of apt"):
        assert f"{way}: " in reasons
        assert f"{way}: " in done.stderr
    assert not (folder / "chromium.json").exists()
