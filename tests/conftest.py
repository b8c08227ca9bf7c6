"""In which order tests run, and which of them on one worker of pytest-xdist (``pytest -n 2``)."""

import signal

import pytest

# Ranks of one test after the other: two such tests at a time would start six processes or more,
# and have to wait for each other. They wait for much else, so they leave the cores to the rest.
RANKS = ("ranks/", "cli/test_tables.py", "reproduction/test_speedup.py")
# These take long, and what begins last should be short.
LONG = (
    "benchmarks/test_stress.py",
    "cli/test_commands.py",
    "estimator/test_interrupt.py",
    "estimator/test_svc.py",
    "solvers/test_optimum.py",
    "solvers/test_optimum_runs.py",
)


def _is_in(nodeid, places):
    return nodeid.removeprefix("tests/").startswith(places)


def pytest_configure(config):
    # A shell starts what it puts into the background with Ctrl-C ignored, and processes inherit
    # that: the tests that press it would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: (not _is_in(item.nodeid, RANKS), not _is_in(item.nodeid, LONG)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file's tests on one worker, which makes its fixtures once; the next worker takes the next.

    (xdist's own groups, ``--dist loadgroup``, do nothing with pytest 9.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return "ranks" if _is_in(nodeid, RANKS) else nodeid.partition("::")[0]

    config.option.loadscopereorder = False  # by the order above, not by numbers of tests
    return ByFile(config, log)
