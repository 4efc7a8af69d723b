"""Real nodes and a running `quorumlock serve`, for tests in Python."""

import json
import os
import random
import signal
import socket
import subprocess
import time

PATIENCE = 120  # seconds, which only a failure takes


class Failure(Exception):
    pass


def until(what, condition):
    """Returns what the condition returns, once that is true."""
    ends = time.monotonic() + PATIENCE
    while time.monotonic() < ends:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    raise Failure(f"this did not happen within {PATIENCE} s: {what}")


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class Nodes:
    """Five real servers on this machine."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.port = next(port for port in random.sample(range(20000, 30000, 5), 2000)
                         if all(is_free(port + node) for node in range(5)))
        self.start()

    def start(self):
        """Starts the servers that do not run, each on its data."""
        done = subprocess.run([self.program, "--json", "cluster", "start", "--dir", self.folder,
                               "--port", str(self.port)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(f"cluster start: {done.stdout}{done.stderr}")
        self.nodes = json.loads(done.stdout)["nodes"]
        self.urls = ",".join(node["url"] for node in self.nodes)

    def kill(self, *numbers):
        for number in numbers:
            os.kill(self.nodes[number]["pid"], signal.SIGKILL)

    def stop(self):
        subprocess.run([self.program, "cluster", "stop", "--dir", self.folder], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Observer:
    """`quorumlock serve`, on any free port."""

    def __init__(self, program, nodes):
        self.process = subprocess.Popen([program, "--nodes", nodes.urls, "--json", "serve", "--listen",
                                         "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise Failure("serve ended before it listened")
        self.url = json.loads(line)["listening"]

    def stop(self):
        self.process.terminate()
        self.process.wait()
