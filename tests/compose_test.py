#!/usr/bin/python3
"""docker-compose.yml as docker-compose understands it: five independent durable nodes and the demo.

Run by Debian's own python3, whose yaml module comes with Debian's docker-compose.
"""
import pathlib
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def understood():
    if shutil.which("docker-compose") is None:
        sys.exit("docker-compose is not installed; tools/test installs it.")
    try:
        import yaml
    except ImportError:
        sys.exit("python3-yaml is not installed; it comes with Debian's docker-compose.")
    told = subprocess.run(["docker-compose", "--file", str(ROOT / "docker-compose.yml"), "config"],
                          capture_output=True, text=True, check=False)
    if told.returncode != 0:
        sys.exit(f"docker-compose refuses docker-compose.yml: {told.stderr}")
    return yaml.safe_load(told.stdout)


CONFIG = understood()
NODES = {name: service for name, service in CONFIG["services"].items() if name != "demo"}


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
        self.assertEqual({name: {"condition": "service_healthy"} for name in NODES},
                         demo["depends_on"])
        self.assertEqual(demo["command"],
                         ["--nodes", ",".join(f"redis://{name}" for name in sorted(NODES))])

    def test_the_demo_is_built_on_pinned_images(self):
        lines = (ROOT / "Dockerfile").read_text().splitlines()
        bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
        self.assertTrue(bases)
        for base in bases:
            self.assertRegex(base, r"^debian:bookworm-\d{8}-slim$")


if __name__ == "__main__":
    unittest.main()
