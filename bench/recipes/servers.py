"""The servers of bench/peers. Each runs in a directory of its own, on free ports of 127.0.0.1, and
as a child that ends with this process even if this process is killed."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time
import typing
import urllib.request

REDIS_NODES = 5
ENSEMBLE = 3  # the number of members of etcd and of ZooKeeper
ZOOKEEPER_JAR = "/usr/share/java/zookeeper.jar"
ZOOKEEPER_LOG_JARS = ["/usr/share/java/slf4j-simple.jar"]


class Trouble(Exception):
    """An error, as a sentence."""


class Children:
    """Our child processes. Those that still run at the end are killed, each by its handle."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        self.all: list[subprocess.Popen] = []

    def start(self, command: list[str], log: str, **more: typing.Any) -> subprocess.Popen:
        """Starts a process in a session of its own, so that our Ctrl-C does not reach it."""
        with open(self.directory / f"{log}.log", "ab") as file:
            more.setdefault("stdout", file)
            child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *command],
                                     stderr=file, start_new_session=True, **more)
        self.all.append(child)
        return child

    def log_of(self, log: str) -> str:
        return (self.directory / f"{log}.log").read_text(errors="replace")[-2000:]

    def end(self) -> None:
        for child in self.all:
            if child.poll() is None:
                child.kill()
        for child in self.all:
            child.wait()
        self.all.clear()


def free_ports(count: int) -> list[int]:
    """Returns free ports. All are taken before one is given back, so they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def ask(port: int, question: bytes) -> bytes:
    """Asks one question on a connection of its own, and reads once: the answer, or nothing if the connection ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
        connection.sendall(question)
        return connection.recv(65536)


def await_all(what: str, ports: list[int], is_up: typing.Callable[[int], bool],
              children: Children, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    for index, port in enumerate(ports):
        while True:
            try:
                if is_up(port):
                    break
            except OSError:
                pass
            if time.monotonic() > deadline:
                raise Trouble(f"{what} {index + 1} does not answer; its log ends with:\n" +
                              children.log_of(f"{what}-{index + 1}"))
            time.sleep(0.05)


class Redis:
    """Five independent nodes, enrolled for quorumlock; node-redlock uses the same nodes."""

    def __init__(self, children: Children, durable: bool, quorumlock: str | None):
        self.ports = free_ports(REDIS_NODES)
        for index, port in enumerate(self.ports):
            directory = children.directory / f"redis-{index + 1}"
            directory.mkdir()
            kept = (["--appendonly", "yes", "--appendfsync", "always"] if durable
                    else ["--appendonly", "no"])
            children.start(["redis-server", "--bind", "127.0.0.1", "--port", str(port),
                            "--dir", str(directory), "--save", "", *kept],
                           f"redis-{index + 1}")
        await_all("redis", self.ports, lambda port: ask(port, b"PING\r\n") == b"+PONG\r\n",
                  children)
        if quorumlock:
            enrol = subprocess.run([quorumlock, "enroll", "--new"], capture_output=True, text=True,
                                   env={**os.environ, "QUORUMLOCK_NODES": ",".join(self.urls())})
            if enrol.returncode != 0:
                raise Trouble(f"{quorumlock} enroll --new: {enrol.stderr}")

    def urls(self) -> list[str]:
        return [f"redis://127.0.0.1:{port}" for port in self.ports]

    def calls(self) -> dict[str, int]:
        """Returns how often each command has run so far on all nodes, including calls by scripts."""
        sums: dict[str, int] = {}
        for port in self.ports:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                connection.sendall(b"INFO commandstats\r\nQUIT\r\n")
                text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
            for name, calls in re.findall(r"^cmdstat_(\S+?):calls=(\d+)", text, re.MULTILINE):
                sums[name] = sums.get(name, 0) + int(calls)
        return sums


class Etcd:
    """Three members. The endpoints begin with the leader's."""

    def __init__(self, children: Children):
        ports = free_ports(2 * ENSEMBLE)
        clients, peers = ports[:ENSEMBLE], ports[ENSEMBLE:]
        members = ",".join(f"n{i + 1}=http://127.0.0.1:{peer}" for i, peer in enumerate(peers))
        for i in range(ENSEMBLE):
            client, peer = (f"http://127.0.0.1:{port}" for port in (clients[i], peers[i]))
            children.start(["etcd", "--name", f"n{i + 1}",
                            "--data-dir", str(children.directory / f"etcd-{i + 1}"),
                            "--listen-client-urls", client, "--advertise-client-urls", client,
                            "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                            "--initial-cluster", members, "--initial-cluster-state", "new",
                            "--initial-cluster-token", "peers", "--logger", "zap",
                            "--log-level", "error"], f"etcd-{i + 1}")
        await_all("etcd", clients, lambda port: self.status(port).get("leader", "0") != "0",
                  children)
        leading = [port for port in clients if self.leads(port)]
        self.endpoints = [f"127.0.0.1:{port}"
                          for port in leading + [port for port in clients if port not in leading]]

    @staticmethod
    def status(port: int) -> dict:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v3/maintenance/status", b"{}",
                                    timeout=2) as answer:
            return json.load(answer)

    def leads(self, port: int) -> bool:
        status = self.status(port)
        return status["leader"] == status["header"]["member_id"]


class ZooKeeper:
    """An ensemble of three. The endpoints begin with the leader's."""

    def __init__(self, children: Children):
        ports = free_ports(3 * ENSEMBLE)
        clients = ports[:ENSEMBLE]
        servers = "".join(
            f"server.{i + 1}=127.0.0.1:{ports[ENSEMBLE + i]}:{ports[2 * ENSEMBLE + i]}\n"
            for i in range(ENSEMBLE))
        for i, client in enumerate(clients):
            directory = children.directory / f"zookeeper-{i + 1}"
            directory.mkdir()
            (directory / "myid").write_text(f"{i + 1}\n")
            settings = directory / "zoo.cfg"
            settings.write_text("tickTime=1000\ninitLimit=20\nsyncLimit=10\n"
                                f"dataDir={directory}\nclientPort={client}\n"
                                "clientPortAddress=127.0.0.1\nmaxClientCnxns=0\n"
                                "admin.enableServer=false\n4lw.commands.whitelist=srvr\n" + servers)
            children.start(["java", "-Xmx512m",
                            "-cp", ":".join([ZOOKEEPER_JAR, *ZOOKEEPER_LOG_JARS]),
                            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                            "org.apache.zookeeper.server.quorum.QuorumPeerMain", str(settings)],
                           f"zookeeper-{i + 1}", cwd=directory)
        await_all("zookeeper", clients, lambda port: b"Mode: " in ask(port, b"srvr"), children, 60)
        leading = [port for port in clients if b"Mode: leader" in ask(port, b"srvr")]
        self.endpoints = [f"127.0.0.1:{port}"
                          for port in leading + [port for port in clients if port not in leading]]


def version_of(command: list[str], pattern: str) -> str:
    if shutil.which(command[0]) is None:
        return "none"
    run = subprocess.run(command, capture_output=True, text=True)
    found = re.search(pattern, run.stdout + run.stderr)
    return found.group(1) if found else "unknown"


def zookeeper_version() -> str:
    """Returns the version of Debian's package, which is in the name of a jar."""
    jars = pathlib.Path(ZOOKEEPER_JAR).parent.glob("zookeeper-[0-9]*.jar")
    found = [jar.stem.partition("-")[2] for jar in jars]
    return found[0] if found else "none"
