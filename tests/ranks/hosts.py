"""Several "hosts" on this machine: network namespaces with an address each, behind one switch.

Each has its own name, its own /dev/shm and an interface ``eth0`` with the address 10.77.0.k; the
files are shared, as on a cluster with a network file system. mpiexec runs on the first and starts
the others through a script in place of ssh.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tests.support import mpi

_TOOLS = ("ip", "unshare", "mount", "hostname")


def _run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=20).stdout


def why_not():
    """The reason why there can be no such hosts here, or an empty string."""
    if reason := mpi.why_not():
        return reason
    missing = [tool for tool in _TOOLS if shutil.which(tool) is None]
    if missing:
        return (
            f"{', '.join(missing)} missing (Debian: apt-get install iproute2 util-linux hostname)"
        )
    if "Open MPI" not in _run(mpi.MPIEXEC, "--version"):
        return "the launcher is not Open MPI's"
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        with Hosts(2) as hosts:
            _run(str(hosts.agent), hosts.addresses[1], "true")
    except (subprocess.SubprocessError, OSError) as error:
        return f"network namespaces do not work here: {getattr(error, 'stderr', '') or error}"
    return ""


class Hosts:
    """``count`` hosts, there while the block lasts.

    Attributes
    ----------
    addresses : list of str
    agent : Path
        A script with the arguments of ssh: an address, and a command to run there.
    """

    def __init__(self, count):
        self._tag = f"mm{os.getpid()}"
        self._switch = f"{self._tag}s"
        self._names = [f"{self._tag}h{k}" for k in range(1, count + 1)]
        self.addresses = [f"10.77.0.{k}" for k in range(1, count + 1)]
        self._folder = None

    def __enter__(self):
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _build(self):
        _run("ip", "netns", "add", self._switch)
        self._ip(self._switch, "link", "add", "bridge0", "type", "bridge")
        self._ip(self._switch, "link", "set", "bridge0", "up")
        for k, (name, address) in enumerate(zip(self._names, self.addresses, strict=True)):
            _run("ip", "netns", "add", name)
            port = ("name", f"port{k}", "netns", self._switch)
            self._ip(name, "link", "add", "eth0", "type", "veth", "peer", *port)
            self._ip(name, "addr", "add", f"{address}/24", "dev", "eth0")
            self._ip(name, "link", "set", "eth0", "up")
            self._ip(name, "link", "set", "lo", "up")
            self._ip(self._switch, "link", "set", f"port{k}", "master", "bridge0", "up")
        self._write_agent()

    def _write_agent(self):
        self._folder = Path(tempfile.mkdtemp(prefix=self._tag))
        self.agent = self._folder / "agent"
        there = 'hostname host$0 && mount -t tmpfs none /dev/shm && eval "$1"'
        self.agent.write_text(
            "#!/bin/sh\n"
            "number=${1##*.}\n"
            "shift\n"
            f'exec ip netns exec "{self._tag}h$number" unshare --uts --mount --ipc '
            f'sh -c {shlex.quote(there)} "$number" "$*"\n'
        )
        self.agent.chmod(0o755)

    def __exit__(self, *_):
        for name in [*self._names, self._switch]:
            # Daemons and ranks of a host that was cut off: nobody else ends them.
            pids = subprocess.run(
                ["ip", "netns", "pids", name], check=False, capture_output=True, text=True
            ).stdout
            for pid in map(int, pids.split()):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @staticmethod
    def _ip(name, *command):
        return _run("ip", "-n", name, *command)

    def start(self, per_host, args, timeout=60.0, env=None, options=()):
        """Start Python with ``args``, ``per_host`` ranks on each host; see `mpi.Run`."""
        hosts = ",".join(f"{address}:{per_host}" for address in self.addresses)
        launcher = [str(self.agent), self.addresses[0]]
        mapping = f"ppr:{per_host}:node:oversubscribe"
        options = [
            "--host",
            hosts,
            "--map-by",
            mapping,
            "--prtemca",
            "prte_ssh_agent",
            str(self.agent),
            *options,
        ]
        # A launcher that is killed leaves files behind: here they go with the hosts.
        env = {"TMPDIR": str(self._folder), **(env or {})}
        n = per_host * len(self.addresses)
        return mpi.Run(n, args, timeout, env=env, options=options, launcher=launcher)

    def cut_off(self, k):
        """Take host ``k`` off the network, as if its cable were pulled out."""
        self._ip(self._switch, "link", "set", f"port{k}", "down")

    def slow_down(self, k, rate="20mbit"):
        """Let host ``k`` send and receive at this rate only."""
        limit = ("root", "tbf", "rate", rate, "burst", "64kb", "latency", "50ms")
        for name, device in ((self._switch, f"port{k}"), (self._names[k], "eth0")):
            _run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", device, *limit)

    def bytes_sent(self, k):
        """What has left host ``k`` so far, by the counter of its interface."""
        (link,) = json.loads(self._ip(self._names[k], "-s", "-j", "link", "show", "eth0"))
        return link["stats64"]["tx"]["bytes"]

    def pids(self, k):
        """Processes that run on host ``k``."""
        return [*map(int, _run("ip", "netns", "pids", self._names[k]).split())]
