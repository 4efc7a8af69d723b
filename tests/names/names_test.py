"""Nodes that are named, with a resolver and name servers that this test plays: they are silent, or drop a question, or
change their mind. It runs in a network and a mount namespace of its own, with its own resolv.conf and hosts file.

    names_test.py QUORUMLOCK NAMES_CLIENT
"""

import contextlib
import fcntl
import json
import os
import pathlib
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support.local import PATIENCE, until  # noqa: E402

PROGRAM = CLIENT = None
NODE_TIMEOUT = 0.5
# What a busy machine may add to a bound; the faults that are looked for take far longer.
SLACK = 2


def enter_namespaces():
    """Begins again in namespaces where this process is root."""
    if os.environ.get("NAMES_TEST_INSIDE"):
        return
    os.environ["NAMES_TEST_INSIDE"] = "1"
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    os.execvp("unshare", ["unshare", *user, "--mount", "--net", sys.executable, *sys.argv])


def set_up_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        up = struct.pack("16sH14x", b"lo", 0x41)  # IFF_UP | IFF_RUNNING
        fcntl.ioctl(any_socket, 0x8914, up)       # SIOCSIFFLAGS


class NameServer:
    """Answers for its names. It drops questions of some kinds, and those for names that begin with a silent label."""

    def __init__(self):
        self.names, self.silent, self.dropped, self.asked = {}, set(), set(), []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            question, sender = self.socket.recvfrom(4096)
            labels, at = [], 12
            while question[at]:
                labels.append(question[at + 1:at + 1 + question[at]].decode().lower())
                at += 1 + question[at]
            kind = struct.unpack("!H", question[at + 1:at + 3])[0]
            name = ".".join(labels)
            self.asked.append((name, kind))
            if kind in self.dropped or labels[0] in self.silent:
                continue
            found = self.names.get(name, []) if kind == 1 else []
            flags = 0x8180 if name in self.names else 0x8183  # an answer; there is no such name
            answer = question[:2] + struct.pack("!HHHHH", flags, 1, len(found), 0, 0) + question[12:at + 5]
            for address in found:
                answer += struct.pack("!HHHIH", 0xC00C, 1, 1, 0, 4) + socket.inet_aton(address)
            self.socket.sendto(answer, sender)


class Client:
    """names_client, which answers line by line."""

    def __init__(self, urls, *words):
        self.process = subprocess.Popen([CLIENT, ",".join(urls), *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.kill()
            raise AssertionError(f"no answer to {word!r} within {PATIENCE} s")
        return self.process.stdout.readline().strip()

    def end(self):
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return code

    def kill(self):
        self.process.kill()
        self.end()


class Command(subprocess.Popen):
    """The program, whose first output a test waits for."""

    def __init__(self, urls, *words):
        nodes = ["--nodes", ",".join(urls)] if urls else []
        super().__init__([PROGRAM, *nodes, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)

    def __exit__(self, *why):
        self.kill()
        super().__exit__(*why)


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.server = NameServer()
        folder = pathlib.Path(cls.folder.name)
        cls.hosts = folder / "hosts"
        for name, text in (("hosts", ""), ("nsswitch.conf", "hosts: files dns\n"),
                           ("resolv.conf", "nameserver 127.0.0.1\nsearch locks.test\n")):
            (folder / name).write_text(text)
            subprocess.run(["mount", "--bind", folder / name, f"/etc/{name}"], check=True)
        cls.port = random.randrange(20000, 30000)
        # Each server is on an address of its own, so that a name may have a second one with that port.
        cls.servers = [subprocess.Popen(
            ["redis-server", "--port", str(cls.port), "--bind", f"127.0.0.1{i}", "--save", "", "--protected-mode", "no",
             "--dir", folder], stdout=subprocess.DEVNULL) for i in range(5)]
        cls.addresses = [f"127.0.0.1{i}" for i in range(5)]
        cls.by_name = [f"redis://n{i}:{cls.port}" for i in range(5)]
        for address in cls.addresses:
            until(f"a server at {address}", lambda to=address: cls.is_up(to))
        cls.server.names = {f"n{i}.locks.test": [address] for i, address in enumerate(cls.addresses)}
        # The names are the nodes', so that clients that know them by name agree on the list.
        cls.call("enroll", "--new")

    @classmethod
    def tearDownClass(cls):
        for server in cls.servers:
            server.kill()
            server.wait()
        cls.folder.cleanup()

    def setUp(self):
        self.server.names = {f"n{i}.locks.test": [address] for i, address in enumerate(self.addresses)}
        self.server.dropped, self.server.silent = set(), set()
        self.hosts.write_text("")

    @classmethod
    def is_up(cls, address, port=None):
        try:
            socket.create_connection((address, port or cls.port)).close()
            return True
        except OSError:
            return False

    @classmethod
    def call(cls, *words, urls=None, code=0):
        """Runs the program; returns what it printed, and how long it took."""
        began = time.monotonic()
        done = subprocess.run([PROGRAM, "--nodes", ",".join(urls or cls.by_name), *words], text=True,
                              capture_output=True, timeout=PATIENCE, check=False)
        took = time.monotonic() - began
        if done.returncode != code:
            raise AssertionError(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr, took

    def silence(self, *numbers):
        self.server.silent = {f"n{number}" for number in numbers}

    def drop_clients(self, addresses=None):
        for address in addresses or self.addresses:
            subprocess.run(["redis-cli", "-h", address, "-p", str(self.port), "CLIENT", "KILL", "TYPE", "normal"],
                           check=True, stdout=subprocess.DEVNULL)

    def test_a_command_ends_while_names_are_silent(self):
        self.silence(3, 4)
        for command in (["acquire", "--ttl", "1s", "quick"], ["run", "quick-run", "--", "true"]):
            _, took = self.call(*command)
            self.assertLess(took, SLACK)

    def test_nodes_come_back_while_the_resolver_is_silent(self):
        client = Client(self.by_name)
        self.assertEqual(client.ask("keep"), "held")
        self.silence(*range(5))
        for _ in range(2):
            self.drop_clients()
            self.assertEqual(client.ask("lock"), "held")
        self.assertEqual(client.ask("valid"), "1")
        self.assertLess(float(client.ask("close")) / 1000, NODE_TIMEOUT + 0.5 + SLACK)
        self.assertEqual(client.end(), 0)

    def test_a_silent_resolver_is_asked_by_one_lookup_at_a_time(self):
        self.silence(0, 1, 2)
        client = Client(self.by_name)
        self.server.asked = []
        began = time.monotonic()
        client.ask("lock")  # in vain, for ten seconds
        took = time.monotonic() - began
        # A lookup asks twice in 3 s for each family.
        self.assertLessEqual(self.server.asked.count(("n0.locks.test", 1)), 2 * (took / 3 + 1))
        self.assertGreater(self.server.asked.count(("n0.locks.test", 1)), 0)
        client.kill()

    @contextlib.contextmanager
    def stopped(self, servers):
        for server in servers:
            server.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for server in servers:
                server.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def everything_wrong(self):
        """All names are silent, two nodes are stopped, and two others have to be connected to anew."""
        self.silence(*range(5))
        with self.stopped(self.servers[:2]):
            self.drop_clients(self.addresses[2:])
            yield

    def test_the_end_waits_neither_for_names_nor_for_callbacks_nor_for_nodes(self):
        # The last node waits for its credentials all the time.
        client = Client(self.by_name, "blocking")
        self.assertEqual(client.ask("keep"), "held")
        with self.everything_wrong():
            client.ask("try")
            self.assertLess(float(client.ask("close")) / 1000, NODE_TIMEOUT + 0.5 + SLACK)
            began = time.monotonic()
            self.assertEqual(client.end(), 0)
            self.assertLess(time.monotonic() - began, SLACK)

    def test_commands_end_after_a_signal_whatever_nodes_and_names_do(self):
        with Command(self.by_name, "leader", "led", "--", "sh", "-c", "echo leads; exec sleep 1000") as leader, \
                Command(self.by_name, "run", "ran", "--", "sh", "-c", "echo runs; exec sleep 1000") as run:
            self.assertEqual(leader.stdout.readline(), "leads\n")
            self.assertEqual(run.stdout.readline(), "runs\n")
            with Command(self.by_name, "run", "--wait", "forever", "ran", "--", "true") as waits:
                self.assertIn("waiting for the lock on ran", waits.stderr.readline())
                with self.everything_wrong():
                    for command in (waits, leader, run):
                        began = time.monotonic()
                        command.terminate()
                        command.wait(PATIENCE)
                        self.assertLess(time.monotonic() - began, NODE_TIMEOUT + 0.5 + SLACK)

    def test_a_look_ends_after_a_signal(self):
        # Nodes that were never reached are waited for as long as connect_timeout.
        config = pathlib.Path(self.folder.name) / "patient.json"
        config.write_text(json.dumps({"nodes": self.by_name, "connect_timeout": "1h"}))
        for words in (["observe", "led"], ["members"], ["members", "plan"], ["status"], ["doctor"], ["enroll"],
                      ["inspect", "looked-at"], ["locks"]):
            self.server.asked = []
            with self.stopped(self.servers), Command(None, "--config", config, *words) as command:
                until("its names are asked for", lambda: self.server.asked)
                began = time.monotonic()
                command.terminate()
                command.wait(PATIENCE)
                self.assertLess(time.monotonic() - began, NODE_TIMEOUT + 0.5 + SLACK, words)

    def test_a_server_that_drops_one_family_delays_nothing(self):
        self.server.dropped = {28}
        _, took = self.call("acquire", "--ttl", "1s", "family")
        self.assertLess(took, SLACK)

    @contextlib.contextmanager
    def dropping(self):
        """127.0.0.99 drops packets: a listener whose queue is full takes no more connections."""
        fillers = []
        with socket.create_server(("127.0.0.99", self.port), backlog=0) as full:
            for _ in range(8):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex(full.getsockname())
                fillers.append(filler)
            yield
        for filler in fillers:
            filler.close()

    def test_an_address_behind_one_that_drops_packets_is_reached(self):
        with self.dropping():
            self.hosts.write_text("".join(f"127.0.0.99 n{i}\n{a} n{i}\n" for i, a in enumerate(self.addresses)))
            self.call("acquire", "--ttl", "1s", "behind")
            # If nobody is behind it, the error names the address.
            self.hosts.write_text("".join(f"127.0.0.99 n{i}\n" for i in range(5)))
            said, _ = self.call("acquire", "nobody", code=69)
            self.assertIn("no answer within connect_timeout from 127.0.0.99", said)

    @contextlib.contextmanager
    def running(self, *words, within=()):
        """A server, in another network namespace perhaps."""
        with subprocess.Popen([*within, "redis-server", *words, "--protected-mode", "no"], stdout=subprocess.DEVNULL,
                              cwd=self.folder.name) as server:
            try:
                yield
            finally:
                server.kill()

    def test_a_sentinel_behind_an_address_that_drops_packets_is_asked(self):
        folder = pathlib.Path(self.folder.name)
        port = str(self.port)
        (folder / "sentinel.conf").write_text(f"sentinel monitor locks 127.0.0.60 {port} 1\n")
        config = folder / "sentinel.json"
        config.write_text(json.dumps({"nodes": [{"url": f"redis+sentinel://s0:{port}/locks", "name": "locks"}]}))
        lock = [PROGRAM, "--config", config, "acquire", "--ttl", "1s", "by-sentinel"]
        one = ["--port", port, "--save", "", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "2"]
        with self.dropping(), self.running(*one, "--bind", "127.0.0.60"), \
                self.running(*one, "--bind", "127.0.0.61", "--replicaof", "127.0.0.60", port), \
                self.running("sentinel.conf", "--sentinel", "--port", port, "--bind", "127.0.0.62"):
            self.hosts.write_text("127.0.0.99 s0\n127.0.0.62 s0\n")
            until("the node is enrolled by way of its Sentinel", lambda: subprocess.run(
                [PROGRAM, "--config", config, "enroll", "--new"], check=False, capture_output=True).returncode == 0)
            began = time.monotonic()
            subprocess.run(lock, check=True, stdout=subprocess.DEVNULL)
            self.assertLess(time.monotonic() - began, SLACK)
            # If nobody is behind it, the error names the address.
            self.hosts.write_text("127.0.0.99 s0\n")
            silent = subprocess.run(lock, text=True, capture_output=True, check=False)
            self.assertEqual(silent.returncode, 69, silent.stderr)
            self.assertIn("from a majority of its Sentinels: s0:" + port + ": waiting for 127.0.0.99", silent.stderr)

    def test_a_link_local_address_is_reached_by_its_zone(self):
        # The servers are in another network namespace, at the other end of a cable.
        with subprocess.Popen(["unshare", "--net", "sleep", "1000"]) as holder:
            try:
                there = ["nsenter", "--net", "--target", str(holder.pid)]
                ours = pathlib.Path("/proc/self/ns/net")
                until("the namespace", lambda: not ours.samefile(f"/proc/{holder.pid}/ns/net"))
                for words in (["link", "add", "near", "type", "veth", "peer", "name", "far"],
                              ["link", "set", "far", "netns", str(holder.pid)]):
                    subprocess.run(["ip", *words], check=True)
                for within, end, address in (([], "near", "fe80::a/64"), (there, "far", "fe80::b/64")):
                    subprocess.run([*within, "ip", "address", "add", address, "dev", end, "nodad"], check=True)
                    subprocess.run([*within, "ip", "link", "set", end, "up"], check=True)
                def server(port):
                    return self.running("--port", str(port), "--bind", "fe80::b%far", "--save", "", within=there)

                ports = range(self.port, self.port + 3)
                urls = [f"redis://[fe80::b%near]:{port}" for port in ports]
                with server(ports[0]), server(ports[1]):
                    with server(ports[2]):
                        for port in ports:
                            until("a server", lambda to=port: self.is_up("fe80::b%near", to))
                        self.call("enroll", "--new", urls=urls)
                        self.call("acquire", "--ttl", "1s", "by-zone", urls=urls)
                        # RFC 6874 writes the zone like this.
                        self.call("acquire", "by-zone-too", urls=[url.replace("%", "%25") for url in urls])
                    # On another host the interface has another name, and the list of nodes is the same: the third one
                    # cannot say that it is of the list now.
                    number = str(socket.if_nametoindex("near"))
                    self.call("acquire", "by-number", urls=[url.replace("near", number) for url in urls])
                    said, _ = self.call("acquire", "nobody", urls=[url.replace("near", "nowhere") for url in urls],
                                        code=69)
                    self.assertIn("this address needs an interface that exists here", said)
                    # A hosts file cannot name the interface.
                    self.hosts.write_text("fe80::b unzoned\n")
                    said, _ = self.call("acquire", "nobody", urls=[f"redis://unzoned:{port}" for port in ports], code=69)
                    self.assertIn("this address needs an interface that exists here", said)
            finally:
                holder.kill()

    def test_a_name_that_moves_is_followed(self):
        # n0's old server is still there, but the name leads to another one now, which is not enrolled.
        client = Client(self.by_name)
        self.assertEqual(client.ask("lock"), "held")
        elsewhere = subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.50", "--save", ""],
                                     stdout=subprocess.DEVNULL)
        try:
            until("the other server", lambda: self.is_up("127.0.0.50"))
            self.server.names["n0.locks.test"] = ["127.0.0.50"]
            self.drop_clients()

            def clients_of_the_other():
                return subprocess.run(["redis-cli", "-h", "127.0.0.50", "-p", str(self.port), "INFO", "commandstats"],
                                      text=True, capture_output=True).stdout.count("cmdstat_script|load")
            until("the client asks the other server", clients_of_the_other)
        finally:
            elsewhere.kill()
            elsewhere.wait()
        self.assertEqual(client.end(), 0)

    def test_localhost_needs_no_hosts_file(self):
        urls = [f"redis://localhost:{self.port}"]
        with subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""],
                              stdout=subprocess.DEVNULL) as server:
            until("a server", lambda: self.is_up("127.0.0.1"))
            self.call("enroll", "--new", urls=urls)
            self.call("acquire", "here", urls=urls)
            self.assertNotIn("localhost", [name for name, _ in self.server.asked])
            server.kill()

    def test_an_attached_coordinator_starts_no_thread(self):
        client = Client(self.by_name)
        self.assertEqual(client.ask("attach"), "held by 1")
        self.assertEqual(client.end(), 0)


if __name__ == "__main__":
    enter_namespaces()
    set_up_loopback()
    CLIENT, PROGRAM = sys.argv.pop(), sys.argv.pop()
    unittest.main(verbosity=2)
