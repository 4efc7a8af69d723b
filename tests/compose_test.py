#!/usr/bin/python3
"""Checks that docker-compose reads docker-compose.yml as five independent durable nodes and the demo.

Run by Debian's own python3, whose yaml module comes with Debian's docker-compose.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def understood():
    if shutil.which("docker-compose") is None:
        sys.exit("docker-compose is not installed; tools/test installs it.")
    try:
        import yaml
    except ImportError:
        sys.exit("python3-yaml is not installed; it comes with Debian's docker-compose.")
    shown = subprocess.run(["docker-compose", "--file", str(ROOT / "docker-compose.yml"), "config"],
                          capture_output=True, text=True, check=False)
    if shown.returncode != 0:
        sys.exit(f"docker-compose refuses docker-compose.yml: {shown.stderr}")
    return yaml.safe_load(shown.stdout)


CONFIG = understood()
NODES = {name: service for name, service in CONFIG["services"].items()
         if name.startswith("node")}
HEALTHY = {name: {"condition": "service_healthy"} for name in NODES}

# Stands in for redis-cli: `-h NODE COMMAND...`; the nodes in $FULL have a key.
REDIS_CLI = """#!/bin/bash
node=$2; shift 2
case $1 in
  dbsize) if [[ " $FULL " == *" $node "* ]]; then echo 1; else echo 0; fi ;;
  info) printf '# Server\\r\\nrun_id:%040d\\r\\ntcp_port:6379\\r\\n' "${node#node}" ;;
  set) echo "$node $*" >>"$ASKED" ;;
esac
"""


class Compose(unittest.TestCase):
    def test_there_are_five_nodes_of_one_pinned_image(self):
        self.assertEqual(len(NODES), 5)
        images = {node["image"] for node in NODES.values()}
        self.assertEqual(len(images), 1)
        self.assertRegex(images.pop(), r"^redis:\d+\.\d+\.\d+-")

    def test_each_node_is_durable_and_evicts_nothing(self):
        for name, node in NODES.items():
            command = node["command"]
            settings = dict(zip(command[1::2], command[2::2]))
            with self.subTest(name):
                self.assertEqual(command[0], "redis-server")
                self.assertEqual(settings["--appendonly"], "yes")
                self.assertEqual(settings["--appendfsync"], "always")
                self.assertEqual(settings["--no-appendfsync-on-rewrite"], "no")
                self.assertEqual(settings["--maxmemory-policy"], "noeviction")

    def test_no_two_nodes_share_a_volume(self):
        volumes = []
        for node in NODES.values():
            [(volume, target)] = [mount.split(":")[:2] for mount in node["volumes"]]
            self.assertEqual(target, "/data")
            volumes.append(volume)
        self.assertEqual(sorted(volumes), sorted(CONFIG["volumes"]))
        self.assertEqual(len(set(volumes)), 5)

    def test_each_node_has_a_port_of_its_own_on_this_machine_only(self):
        ports = sorted(port for node in NODES.values() for port in node["ports"])
        self.assertEqual(ports, [f"127.0.0.1:{port}:6379/tcp" for port in range(7101, 7106)])

    def test_each_node_is_checked_and_comes_back(self):
        for name, node in NODES.items():
            with self.subTest(name):
                self.assertIn("PONG", node["healthcheck"]["test"][-1])
                self.assertEqual(node["restart"], "unless-stopped")

    def test_the_demo_waits_for_the_nodes_and_uses_them_all(self):
        demo = CONFIG["services"]["demo"]
        enrolled = {"enroll": {"condition": "service_completed_successfully"}}
        self.assertEqual(HEALTHY | enrolled, demo["depends_on"])
        self.assertEqual(demo["command"],
                         ["--nodes", ",".join(f"redis://{name}" for name in sorted(NODES))])

    def enrolled(self, full):
        """The records that the service `enroll` writes if the nodes in `full` are not empty."""
        with tempfile.TemporaryDirectory() as directory:
            stub = pathlib.Path(directory, "redis-cli")
            stub.write_text(REDIS_CLI)
            stub.chmod(0o755)
            asked = pathlib.Path(directory, "asked")
            asked.touch()
            command = [word.replace("$$", "$") for word in CONFIG["services"]["enroll"]["command"]]
            subprocess.run(command, check=True, capture_output=True,
                           env={"PATH": f"{directory}:/usr/bin:/bin", "FULL": full,
                                "ASKED": str(asked)})
            return asked.read_text().splitlines()

    def test_the_first_start_enrolls_all_nodes(self):
        self.assertEqual(CONFIG["services"]["enroll"]["depends_on"], HEALTHY)
        self.assertEqual(self.enrolled(""), [
            f"node{i} set quorumlock:enrolment {i:040d}:30000,a,86400:durable nx" for i in range(1, 6)])

    def test_a_node_that_came_back_empty_is_left_to_its_quarantine(self):
        self.assertEqual(self.enrolled("node1 node2 node4 node5"), [])

    def test_the_demo_is_built_on_pinned_images(self):
        lines = (ROOT / "Dockerfile").read_text().splitlines()
        bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
        self.assertTrue(bases)
        for base in bases:
            self.assertRegex(base, r"^debian:bookworm-\d{8}-slim$")


if __name__ == "__main__":
    unittest.main()
