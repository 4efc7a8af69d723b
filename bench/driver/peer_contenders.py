"""The contenders of bench/peers: what has to be installed for each, and its workers."""

import argparse
import os
import shutil
import subprocess

from driver.place import RECIPES, ROOT
from recipes import servers

# npm's "latest", the version of its README, and the fork that continues it.
NPM = ["redlock4@npm:redlock@4.2.0", "redlock5@npm:redlock@5.0.0-beta.2",
       "redlockfork@npm:@sesamecare-oss/redlock@1.4.0", "ioredis@6"]
# The commands that clients themselves send, as opposed to those that scripts call.
SENT = {"evalsha", "eval", "fcall", "script|load", "subscribe", "unsubscribe"}


class Contender:
    """One lock: what it needs, its worker's command line, and the workers that run."""

    def __init__(self, name: str, servers_of: str, sends: frozenset[str] | set[str] = SENT):
        self.name, self.servers_of, self.sends = name, servers_of, sends
        self.workers: list[subprocess.Popen] = []

    def redlock(self) -> str:
        """The name under which bench/peers has this version of node-redlock from npm."""
        return "redlock" + self.name.split("_")[2]

    def missing(self, given: argparse.Namespace) -> str:
        """What has to be installed first; empty if there is nothing."""
        if shutil.which("setpriv") is None:
            return "install util-linux"
        if self.servers_of == "redis" and shutil.which("redis-server") is None:
            return "install redis-server"
        if self.name.startswith("quorumlock"):
            wanted = ["bench/quorumlock_bench", "tools/cli/quorumlock"]
            if not all(os.access(given.build / path, os.X_OK) for path in wanted):
                return "build the targets quorumlock_bench and quorumlock_cli, or name --build"
        elif self.servers_of == "redis":
            if shutil.which("node") is None:
                return "apt-get install nodejs npm, or --install"
            modules = given.cache / "node_modules"
            if not all((modules / name).is_dir() for name in (self.redlock(), "ioredis")):
                return " ".join(["npm install --prefix", str(given.cache), *NPM, "or --install"])
        elif self.servers_of == "etcd":
            if shutil.which("etcd") is None or not python_with("grpc"):
                return "apt-get install etcd-server python3-grpcio, or --install"
        elif not (shutil.which("java") and os.path.exists(servers.ZOOKEEPER_JAR)
                  and python_with("kazoo")):
            return ("apt-get install libzookeeper-java default-jre-headless python3-kazoo, or "
                    "--install")
        return ""

    def command(self, given: argparse.Namespace, running: dict, process: int) -> list[str]:
        if self.name.startswith("quorumlock"):
            name = {"quorumlock_plain": "quorumlock"}.get(self.name, self.name)
            return [str(given.build / "bench/quorumlock_bench"), f"--contenders={name}",
                    "--turns-on=" + ",".join(running["redis"].urls())]
        if self.servers_of == "redis":
            more = ["--pipelining"] if self.name.endswith("pipelining") else []
            ports = ",".join(map(str, running["redis"].ports))
            return ["node", str(RECIPES / "redlock.js"), self.redlock(), ports, *more]
        endpoints = running[self.servers_of].endpoints
        python = python_with({"etcd": "grpc", "zookeeper": "kazoo"}[self.servers_of])
        return [str(python), str(RECIPES / f"{self.servers_of}.py"),
                endpoints[process % len(endpoints)]]

    def start(self, given: argparse.Namespace, running: dict, children: servers.Children) -> None:
        environment = {**os.environ, "NODE_PATH": str(given.cache / "node_modules"),
                       "PYTHONDONTWRITEBYTECODE": "1"}
        for process in range(given.processes):
            self.workers.append(children.start(
                self.command(given, running, process), self.name, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, env=environment))


CONTENDERS = [
    Contender("quorumlock_fenced", "redis"),
    Contender("quorumlock_plain", "redis", SENT | {"set"}),
    Contender("node_redlock_4", "redis"),
    Contender("node_redlock_5", "redis"),
    Contender("node_redlock_5_pipelining", "redis"),
    Contender("node_redlock_fork", "redis"),
    Contender("etcd", "etcd"),
    Contender("zookeeper", "zookeeper"),
]


def python_with(module: str) -> str | None:
    """A python3 with this module: Debian installs modules for its own python3, which may not be first in PATH."""
    for python in ("python3", "/usr/bin/python3"):
        found = shutil.which(python)
        if found and subprocess.run([found, "-c", f"import {module}"],
                                    capture_output=True).returncode == 0:
            return found
    return None


def install(given: argparse.Namespace) -> None:
    packages = set()
    wanted = {contender.servers_of for contender in CONTENDERS if contender.name in given.only}
    if "redis" in wanted:
        packages |= {"redis-server"}
        if any(name.startswith("node_redlock") for name in given.only):
            packages |= set() if shutil.which("npm") else {"nodejs", "npm"}
    if "etcd" in wanted:
        packages |= {"etcd-server", "python3-grpcio"}
    if "zookeeper" in wanted:
        packages |= {"libzookeeper-java", "python3-kazoo"}
        packages |= set() if shutil.which("java") else {"default-jre-headless"}
    subprocess.run(["bash", "-c", 'source tools/setup.sh && install_missing "$@"', "bash",
                    *sorted(packages)], cwd=ROOT, check=True)
    if any(name.startswith("node_redlock") for name in given.only):
        given.cache.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--prefix", str(given.cache), "--no-audit", "--no-fund",
                        "--ignore-scripts", *NPM], check=True)
