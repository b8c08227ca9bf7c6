"""Which tests are slow, in which order tests run, and which on one worker (``pytest -n 2``)."""

import os
import signal
from collections import Counter

import pytest

# Ranks of one host would solve as one. What they do is tested where they do not, unless a test
# asks for it (distributed/test_host_pool.py).
os.environ.setdefault("MULTIMARGIN_POOL", "0")

# Ranks of one test after the other: two such tests at a time would start six processes or more,
# and have to wait for each other. They wait for much else, so they leave the cores to the rest.
RANKS = ("ranks/", "benchmarks/test_cluster_costs.py", "reproduction/test_own_process.py")
# Slow is what starts ranks, servers, browsers, compilers or several Pythons, and what trains for
# more than a few seconds: this list alone says so, and marks it. `make test-fast` leaves it out.
SLOW = (
    *RANKS,
    "benchmarks/test_stress.py",
    "cli/test_checkpoint_command.py",
    "cli/test_errors.py::test_as_a_process",
    "cli/test_errors.py::test_closed_pipe",
    "cli/test_errors.py::test_stdout_full",
    "cli/test_help.py::test_help_and_wrong_usage_import_nothing",
    "cli/test_interrupts.py",
    "datasets/test_datasets.py",
    "datasets/test_real_data.py",
    "distributed/test_fit.py::test_same_bytes_for_any_number_of_ranks_and_threads",
    "estimator/test_interrupt.py",
    "estimator/test_scikit_learn.py::test_scikit_learn_checks_with_other_parameters",
    "estimator/test_threads.py::test_shared_samples_of_lee_lin_wahba_give_the_same_bits",
    "estimator/test_warm_start.py::test_a_bad_start_is_dropped",
    "estimator/test_warm_start.py::test_a_good_start_is_kept",
    "estimator/test_warm_start.py::test_few_passes_do_not_lose_the_start",
    "estimator/test_warm_start.py::test_the_same_for_any_number_of_threads",
    "inspection/test_inspection.py::test_plots_are_drawn",
    "io/test_svmlight_round_trip.py",
    "models/test_living_models.py::test_processes_share_the_pages_of_a_model",
    "parallel/test_blas_threads.py::test_fits",
    "project/test_doctests.py",
    "project/test_typing.py",
    "project/test_wheel.py",
    "reproduction/test_command.py::test_a_killed_run_goes_on",
    "reproduction/test_lshtc.py",
    "reproduction/test_report.py",
    "reproduction/test_validation.py",
    "selection/test_path.py::test_a_path_equals_cold_fits[llw",
    "serving/test_page.py",
    "serving/test_page_inputs.py",
    "serving/test_serve_command.py",
    "serving/test_slow_clients.py",
    "solvers/active_set/test_meeting.py",
    "solvers/active_set/test_rank_checkpoints.py",
    "solvers/active_set/test_rank_ends.py",
    "solvers/active_set/test_rank_workspace.py",
    "solvers/active_set/test_solver.py::test_every_plan",
    "solvers/llw/test_hard_margin.py",
    "solvers/llw/test_ranks.py",
    "solvers/ovr/test_ranks.py",
    "solvers/test_certificates.py",
    "solvers/test_kept_certificates.py",
    "solvers/test_label_costs.py::test_every_instruction_set",
    "solvers/test_label_costs.py::test_forms_threads_and_ranks",
    "solvers/test_optimum.py",
    "solvers/test_optimum_runs.py",
    "solvers/test_solver_choices.py",
    "tables/test_tables.py",
    "text/test_sentence_transformers.py",
)


def _is_in(item, places):
    return item.nodeid.removeprefix("tests/").startswith(places)


def _file(nodeid):
    return nodeid.partition("::")[0]


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: not part of `make test-fast`; see tests/conftest.py")
    # A shell starts what it puts into the background with Ctrl-C ignored, and processes inherit
    # that: the tests that press it would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)  # before -m looks at marks
def pytest_collection_modifyitems(items):
    """Mark what is slow, and put it first, then large files: what begins last should be short."""
    for item in items:
        if _is_in(item, SLOW):
            item.add_marker("slow")
    sizes = Counter(_file(item.nodeid) for item in items)
    slow = {_file(item.nodeid) for item in items if item.get_closest_marker("slow")}

    def turn(item):
        file = _file(item.nodeid)
        return not _is_in(item, RANKS), file not in slow, -sizes[file], file

    items.sort(key=turn)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A file's tests on one worker, which makes its fixtures once; the next worker takes the next.

    (xdist's own groups, ``--dist loadgroup``, do nothing with pytest 9.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            ranks = nodeid.removeprefix("tests/").startswith(RANKS)
            return "ranks" if ranks else _file(nodeid)

    config.option.loadscopereorder = False  # by the order above, not by numbers of tests
    return ByFile(config, log)
