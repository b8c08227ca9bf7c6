"""For all tests."""

import signal


def pytest_configure(config):
    # A shell starts what it puts into the background with Ctrl-C ignored, and processes inherit
    # that: the tests that press it would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
