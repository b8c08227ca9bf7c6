"""``mpiexec -n N multimargin train ... --divide samples``: the same model, less memory per host."""

import json

import numpy as np
import pytest

from multimargin.cli import main
from tests.ranks import hosts
from tests.ranks.mpi_commands import run_many
from tests.support.every_formulation import write_data
from tests.support.mpi import mpiexec, needs_mpi

pytestmark = needs_mpi

MODELS = {
    f"{formulation}{intercept}": ["--formulation", formulation, *([intercept] if intercept else [])]
    for formulation in ("ww", "cs")
    for intercept in ("", "--no-intercept")
}


def command(name, folder, *more):
    data = ["train.svm", f"{folder}/{name}", "--bundles", "6", "--threads", "1"]
    return ["train", *data, "--normalize", "l2", *MODELS[name], *more]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data, and in ``plain`` the models of one process."""
    folder = tmp_path_factory.mktemp("divided")
    write_data(folder / "train.svm", 300, 1, n_classes=70, n_features=90)
    (folder / "plain").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name in MODELS:
            assert main(command(name, "plain", "--quiet")) == 0
    return folder


@pytest.mark.parametrize("n", [2, 3])
def test_same_bytes_as_one_process(folder, n):
    (folder / f"ranks{n}").mkdir()
    commands = [command(name, f"ranks{n}", "--divide", "samples", "--json") for name in MODELS]
    lines = run_many(n, commands, folder)
    assert lines.count("status 0") == len(MODELS)
    for result in (json.loads(line) for line in lines if line.startswith("{")):
        assert result["ranks"] == n
        assert result["samples"] == 300
    for name in MODELS:
        expected = (folder / "plain" / name).read_bytes()
        assert (folder / f"ranks{n}" / name).read_bytes() == expected, name


def test_hosts_with_two_ranks_each(folder):
    if reason := hosts.why_not():
        pytest.skip(reason)
    asked = ["-m", "multimargin", *command("ww", ".", "--divide", "samples")]
    asked[asked.index("./ww")] = folder / "hosts"
    asked[asked.index("train.svm")] = folder / "train.svm"
    with hosts.Hosts(2) as two, two.start(2, asked, env={"MULTIMARGIN_POOL": "1"}) as run:
        result = run.finish()
    assert result.status == 0, result.output
    assert (folder / "hosts").read_bytes() == (folder / "plain" / "ww").read_bytes()


def test_the_memory_of_a_host_is_told_before_the_run(folder):
    asked = ["-m", "multimargin", *command("ww", ".", "--divide", "samples")]
    result = mpiexec(2, asked, timeout=60, cwd=folder)
    assert result.status == 0, result.output
    told, *_ = [line for line in result.stderr.splitlines() if "memory per host" in line]
    assert told.startswith("multimargin: memory per host: about ")
    assert result.stderr.index("memory per host") < result.stderr.index("pass")


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (["--formulation", "llw"], "got 'llw'"),
        (["--checkpoint", "state"], "checkpoint does not work with divided samples"),
    ],
)
def test_what_does_not_fit_is_refused_before_reading(folder, more, reason, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert main(["train", "train.svm", "never", "--divide", "samples", *more]) == 1
    told = capsys.readouterr().err
    assert reason in told
    assert "read" not in told
    assert not (folder / "never").exists()


PEAK = """
import resource, sys, warnings
import numpy as np
from multimargin import MulticlassSVC, distributed
from multimargin.parallel._mpi import world

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

warnings.simplefilter("ignore")  # the largest is reached at the first scan
comm, before = world(), peak()
X, y = distributed.load("large.svm", divide=sys.argv[1], normalize="l2", dtype=np.float64)
svc = MulticlassSVC("ww", solver="passes", random_state=0, n_jobs=1, max_iter=4)
model = distributed.fit(svc, X, y)
taken = max(float(mine[0]) for (mine,) in comm.allgather([np.array([peak() - before])]))
if comm.rank == 0:
    print(taken, model.dual_objective_.hex())
"""


def test_a_host_takes_less_memory(tmp_path):
    """Rows of many features and few classes: two thirds of the memory are for rows."""
    rng = np.random.default_rng(0)
    with (tmp_path / "large.svm").open("w") as file:
        for i in range(3000):
            own = i % 8 * 2000 + rng.integers(0, 500, 100)
            used = np.unique(np.concatenate([own, rng.integers(0, 16000, 900)])) + 1
            values = rng.integers(1, 9, len(used))
            row = " ".join(map("%d:%d".__mod__, zip(used.tolist(), values.tolist(), strict=True)))
            file.write(f"{i % 8} {row}\n")
    taken, value = {}, {}
    for divide in ("classes", "samples"):
        result = mpiexec(4, ["-c", PEAK, divide], timeout=120, cwd=tmp_path)
        assert result.status == 0, result.output
        megabytes, value[divide] = result.stdout.split()
        taken[divide] = float(megabytes)
    assert value["samples"] == value["classes"]
    assert taken["classes"] > 80
    assert taken["samples"] < 0.65 * taken["classes"], taken
