"""In which order tests run, and which of them on one worker of pytest-xdist (``pytest -n 2``)."""

import signal

import pytest

# Ranks of one test after the other: two such tests at a time would start six processes or more,
# and have to wait for each other. They wait for much else, so they leave the cores to the rest.
RANKS = {
    "test_cli_text.py",
    "test_kill_and_resume.py",
    "test_launch.py",
    "test_mpi_command.py",
    "test_mpi_communicator.py",
    "test_multi_host.py",
    "test_reproduce_speedup.py",
}
# These take long, and what begins last should be short.
LONG = {
    "test_cli.py",
    "test_cs_optimum.py",
    "test_estimator.py",
    "test_interrupt.py",
    "test_llw_optimum.py",
    "test_ovr_optimum.py",
    "test_stress.py",
    "test_ww_optimum.py",
}


def pytest_configure(config):
    # A shell starts what it puts into the background with Ctrl-C ignored, and processes inherit
    # that: the tests that press it would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: (item.path.name not in RANKS, item.path.name not in LONG))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file's tests on one worker, which makes its fixtures once; the next worker takes the next.

    (xdist's own groups, ``--dist loadgroup``, do nothing with pytest 9.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0].rpartition("/")[2]
            return "ranks" if file in RANKS else file

    config.option.loadscopereorder = False  # by the order above, not by numbers of tests
    return ByFile(config, log)
