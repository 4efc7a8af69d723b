#!/usr/bin/env python3
"""A test run that is killed leaves no process, not even a server that was to outlive its program.

    overseer_test.py OVERSEEN INTEGRATION_TESTS CLI_TESTS QUORUMLOCK
"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support.local import is_free  # noqa: E402, below the path that it is found by

OVERSEEN, INTEGRATION_TESTS, CLI_TESTS, QUORUMLOCK = sys.argv[1:]
PATIENCE = 120  # seconds, which only a failure takes


def ours(folder):
    """The processes that work below the folder, or have it in their environment: PID and command line."""
    found = {}
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (os.readlink(process / "cwd").startswith(folder) or
                                           folder.encode() in (process / "environ").read_bytes()):
                words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                if words:  # not one that is just waiting to be reaped
                    found[int(process.name)] = words
        except OSError:
            pass  # it has ended, or is another user's
    return found


class Killed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="overseen-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addCleanup(self.end_all)

    def end_all(self):
        for pid in ours(self.folder):
            os.kill(pid, signal.SIGKILL)

    def until(self, what, condition):
        ends = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), ends, f"{what}: {ours(self.folder)}")

    def overseer(self):
        """The process that waits for the end of the program, and does nothing else."""
        overseers = [pid for pid in ours(self.folder)
                     if pathlib.Path(f"/proc/{pid}/comm").read_text() == "overseer\n"]
        self.assertEqual(len(overseers), 1, ours(self.folder))
        return overseers[0]

    def kill(self, words, servers, end=subprocess.Popen.kill, **environment):
        """Kills the program once these servers run, and demands that nothing of it is left. A test is repeated
        until then, since it may end before we see that they run."""
        program = subprocess.Popen(words, env={**os.environ, "TMPDIR": self.folder, **environment},
                                   stdout=subprocess.DEVNULL)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)

        def all_run():
            self.assertIsNone(program.poll(), "it ended before it was killed")
            running = list(ours(self.folder).values())
            return all(sum(kind in words for words in running) >= count for kind, count in servers.items())

        self.until("its servers do not run", all_run)
        end(program)
        self.assertEqual(program.wait(), -signal.SIGKILL)
        self.until("something is left", lambda: not ours(self.folder))

    def test_servers_and_sentinels(self):
        self.kill([INTEGRATION_TESTS, "--gtest_filter=SentinelFronted.APromotionIsQuarantined", "--gtest_repeat=-1"],
                  {"redis-server": 6, "[sentinel]": 1})

    def test_a_cluster_that_outlives_its_program(self):
        self.kill([CLI_TESTS, "--gtest_filter=ClusterCommand.StartedTwiceIsTheSameCluster", "--gtest_repeat=-1"],
                  {"redis-server": 3})

    def script(self):
        """A script that starts a cluster and goes on for longer than any patience."""
        port = next(port for port in random.sample(range(20000, 30000, 5), 2000)
                    if all(is_free(port + node) for node in range(5)))
        return f"{QUORUMLOCK} cluster start --dir {self.folder}/nodes --port {port}; sleep 1000; true"

    def test_a_script_whose_ctest_is_killed(self):
        self.kill(["sh", "-c", '"$0" sh -c "$1"; true', OVERSEEN, self.script()], {"redis-server": 5, "sleep": 1},
                  CTEST_INTERACTIVE_DEBUG_MODE="1")

    def test_a_script_whose_overseer_is_killed(self):
        self.kill([OVERSEEN, "sh", "-c", self.script()], {"redis-server": 5, "sleep": 1},
                  lambda _: os.kill(self.overseer(), signal.SIGKILL))


class Ended(unittest.TestCase):
    def test_the_end_is_that_of_the_command(self):
        for script, code in (("exit 0", 0), ("exit 7", 7), ("kill -SEGV $$", -signal.SIGSEGV)):
            self.assertEqual(subprocess.run([OVERSEEN, "sh", "-c", script], check=False).returncode, code)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
