#!/usr/bin/env python3
"""The units and scripts of examples/services, on nodes that this test starts: the program accepts the command of each
unit, and the nightly report is made once however many machines start it. systemd-analyze verifies the units if it is there.

    services_test.py PROGRAM
"""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/services"
SPECIFIERS = {"%H": "host-1", "%i": "1"}
PROGRAM = None


def setting(unit, key):
    found = re.search(rf"^{key}=(.*)$", unit.read_text(), re.M)
    return found[1] if found else ""


def units():
    return sorted(EXAMPLES.glob("*.service"))


class Services(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.work = pathlib.Path(directory.name)
        cls.environment = {name: value for name, value in os.environ.items() if not name.startswith("QUORUMLOCK_")}
        words = [PROGRAM, "cluster", "start", "--size", "3", "--dir", cls.work / "nodes", "--port"]
        for _ in range(10):  # until the ports are free
            port = random.randrange(20000, 30000)
            done = subprocess.run([*words, str(port)], env=cls.environment, text=True, capture_output=True, check=False)
            if done.returncode == 0:
                break
        else:
            raise AssertionError(done.stderr)
        cls.addClassCleanup(subprocess.run, [PROGRAM, "cluster", "stop", "--dir", cls.work / "nodes"],
                            env=cls.environment, stdout=subprocess.DEVNULL, check=True)
        cls.environment["QUORUMLOCK_NODES"] = ",".join(f"redis://127.0.0.1:{port + node}" for node in range(3))

    def words_of(self, unit, command):
        """ExecStart of a unit, with our program and another command."""
        line = setting(unit, "ExecStart")
        for specifier, value in SPECIFIERS.items():
            line = line.replace(specifier, value)
        ours, _, its = line.partition(" -- ")
        program, *options = ours.split()
        self.assertEqual(program, "/usr/bin/quorumlock")
        self.assertTrue(its.startswith("/usr/local/bin/"))
        return [PROGRAM, *options, "--", *command]

    def test_the_program_accepts_what_the_units_say(self):
        called = [unit for unit in units() if setting(unit, "ExecStart").startswith("/usr/bin/quorumlock")]
        self.assertEqual(len(called), 3)
        for unit in called:
            with self.subTest(unit.name):
                done = subprocess.run(self.words_of(unit, ["sh", "-c", 'echo "$QUORUMLOCK_RESOURCE"']),
                                      env=self.environment, text=True, capture_output=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.strip())

    def test_the_report_is_made_once(self):
        reports = self.work / "reports"
        reports.mkdir()
        words = self.words_of(EXAMPLES / "nightly-report.service", [EXAMPLES / "nightly-report"])
        machines = [subprocess.Popen(words, env={**self.environment, "REPORTS": str(reports)}, text=True,
                                     stdout=subprocess.PIPE) for _ in range(4)]
        said = [machine.communicate(timeout=60)[0] for machine in machines]
        self.assertEqual([machine.returncode for machine in machines], [0] * 4)
        self.assertEqual(sum(line.startswith("made ") for line in said), 1, said)
        self.assertEqual(sum(line.startswith("another machine ") for line in said), 3, said)
        self.assertEqual(len(list(reports.iterdir())), 1)

    def test_the_consumer_gets_what_it_asks_for(self):
        program, *arguments = setting(EXAMPLES / "orders-consumer.service", "ExecStart").split()
        self.assertTrue((ROOT / f"examples/{pathlib.Path(program).name}.cpp").is_file())
        _, shards, most = arguments
        self.assertGreaterEqual(2 * int(most), int(shards), "two machines cannot do the work of three")

    def test_systemd_understands_the_units(self):
        analyze = shutil.which("systemd-analyze")
        if analyze is None:
            print("the units were not verified: systemd-analyze is not installed", file=sys.stderr)
            return
        folder = self.work / "units"
        folder.mkdir()
        names = []
        for unit in [*units(), *EXAMPLES.glob("*.timer"), *(ROOT / "packaging/systemd").glob("*.service")]:
            # The programs are not installed here.
            (folder / unit.name).write_text(re.sub(r"/usr/(local/)?bin/\S+", "/bin/true", unit.read_text()))
            names.append(str(folder / unit.name.replace("@.", "@1.")))
        done = subprocess.run([analyze, "verify", "--man=no", *names], text=True, capture_output=True, check=False,
                              env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:"})
        about_ours = [line for line in done.stderr.splitlines() if str(folder) in line
                      or any(pathlib.Path(name).name in line for name in names)]
        self.assertEqual((done.returncode, about_ours), (0, []), done.stderr)


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv.pop()).resolve()
    unittest.main()
