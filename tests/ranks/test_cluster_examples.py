"""The job scripts of ``examples/cluster``, as far as one machine can run them."""

import lzma
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from multimargin import MulticlassSVC, distributed, load_model
from tests.ranks import hosts
from tests.support import mpi
from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "cluster"


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 12)), np.arange(600) % 40
    with lzma.open(tmp_path / "train.svm.xz", "wb") as file:
        dump_svmlight_file(X + 2 * rng.normal(size=(40, 12))[y], y, file, zero_based=False)
    return tmp_path


def by_one_process(path):
    """The bits of the model that one process makes of the same data with the same bundles."""
    X, y = distributed.load(path, normalize="l2")
    model = distributed.fit(MulticlassSVC(n_bundles=8, random_state=0), X, y)
    return model.gather().coef_.tobytes()


def script(path, lines):
    path.write_text("#!/bin/bash\n" + lines)
    path.chmod(0o755)


@mpi.needs_mpi
def test_the_slurm_script_is_requeued_and_goes_on(data):
    """srun is mpiexec here, and its first run waits for the signal that the time is nearly up."""
    tools = data / "tools"
    tools.mkdir()
    launch = shlex.join([mpi.MPIEXEC, "-n", "2", sys.executable, "-m"])
    script(
        tools / "srun",
        f"[ $1 = --mpi=pmix ] || exit 9\nshift\necho started >> {data}/log\n"
        f'if [ ! -e {data}/requeued ]; then sleep 60; fi\nexec {launch} "$@"\n',
    )
    script(tools / "scontrol", f'echo "$@" > {data}/requeued\n')
    (data / "multimargin" / "bin").mkdir(parents=True)
    (data / "multimargin" / "bin" / "activate").write_text("")
    variables = {
        "HOME": str(data),
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
        "SLURM_CPUS_PER_TASK": "1",
        "SLURM_SUBMIT_DIR": str(data),
        "TMPDIR": str(data),
        "MULTIMARGIN_POOL": "0",
    }
    command = ["bash", str(FOLDER / "train.sbatch")]
    first = subprocess.Popen(
        command, cwd=data, env=mpi.environment(variables), start_new_session=True
    )
    try:
        while not (data / "log").exists():
            time.sleep(0.02)
        first.send_signal(signal.SIGUSR1)
        first.wait(20)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
    assert (data / "requeued").read_text().split() == ["requeue", "7"]
    again = subprocess.run(
        command, cwd=data, env=mpi.environment(variables), check=True, timeout=100
    )
    assert again.returncode == 0
    model = load_model(data / "model")
    assert model.coef_.tobytes() == by_one_process(data / "train.svm.xz")


@pytest.mark.skipif(bool(hosts.why_not()), reason=hosts.why_not())
def test_the_command_of_the_mpi_job_runs_on_hosts(data):
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((FOLDER / "mpijob.yaml").read_text())
    replicas = job["spec"]["mpiReplicaSpecs"]
    launcher = replicas["Launcher"]["template"]["spec"]["containers"][0]
    ranks = int(launcher["command"][-1])
    assert ranks == replicas["Worker"]["replicas"] * job["spec"]["slotsPerWorker"]
    for replica in replicas.values():  # what is mounted is there, and where the commands look
        spec = replica["template"]["spec"]
        mounts = spec["containers"][0]["volumeMounts"]
        assert {m["name"] for m in mounts} <= {v["name"] for v in spec["volumes"]}
        assert "/data" in {m["mountPath"] for m in mounts}
    args = [re.sub("(^|=)/data", rf"\1{data}", arg) for arg in launcher["args"]]
    with hosts.Hosts(ranks) as pods, pods.start(1, ["-m", *args], timeout=100) as run:
        result = run.finish()
    assert result.status == 0, result.output
    assert load_model(data / "model").coef_.tobytes() == by_one_process(data / "train.svm.xz")
