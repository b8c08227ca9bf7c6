"""Make the pictures of the page again: ``python docs/images/make_page.py MODEL``.

MODEL is the demo's: ``multimargin demo --script --save MODEL``. Needs a Chromium, as the tests do.
"""

from __future__ import annotations

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from multimargin.serving import Limits  # noqa: E402
from tests.support.chromium import chromium, why_not  # noqa: E402
from tests.support.served import live  # noqa: E402

TEXT = "tropical tree with edible yellow fruit and hard wood"
PICTURES = {
    "page.png": {"viewport": {"width": 1080, "height": 400}, "device_scale_factor": 1.5},
    "page-phone.png": {"viewport": {"width": 390, "height": 400}, "device_scale_factor": 2},
}


def main() -> int:
    """Serve, type, take pictures."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = chromium()
    if found is None:
        print(why_not(), file=sys.stderr)
        return 1
    with live(Path(sys.argv[1]), Limits()) as (host, port), sync_playwright() as library:
        browser = library.chromium.launch(**found)
        for name, options in PICTURES.items():
            page = browser.new_context(**options).new_page()
            page.goto(f"http://{host}:{port}/")
            page.fill("#text", TEXT)
            page.wait_for_selector("#words tr")
            page.wait_for_timeout(500)  # bars grow
            page.screenshot(path=HERE / name, full_page=True, scale="device")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
