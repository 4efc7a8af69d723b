#!/usr/bin/python3
"""Checks that docker-compose reads docker-compose.yml as five independent durable nodes and the demo,
and the same once more with TLS.

Run by Debian's own python3, whose yaml module comes with Debian's docker-compose.
"""
import os
import pathlib
import re
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
TLS_NODES = {name: service for name, service in CONFIG["services"].items() if re.fullmatch(r"tls\d", name)}


def healthy(nodes):
    return {name: {"condition": "service_healthy"} for name in nodes}


HEALTHY = healthy(NODES)

# Stands in for the program: writes what it is asked, and for which nodes, and ends with $CODE.
PROGRAM = """#!/bin/bash
echo "$* $QUORUMLOCK_NODES" >>"$ASKED"
exit $CODE
"""


class Compose(unittest.TestCase):
    def test_there_are_five_nodes_of_one_pinned_image(self):
        self.assertEqual((len(NODES), len(TLS_NODES)), (5, 5))
        images = {node["image"] for node in [*NODES.values(), *TLS_NODES.values()]}
        self.assertEqual(len(images), 1)
        self.assertRegex(images.pop(), r"^redis:\d+\.\d+\.\d+-")

    def test_each_node_is_durable_and_evicts_nothing(self):
        for name, node in (NODES | TLS_NODES).items():
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
        for node in (NODES | TLS_NODES).values():
            mounts = [mount.split(":")[:2] for mount in node["volumes"]]
            [volume] = [volume for volume, target in mounts if target == "/data"]
            volumes.append(volume)
        self.assertEqual(sorted([*volumes, "certificates"]), sorted(CONFIG["volumes"]))
        self.assertEqual(len(set(volumes)), 10)

    def test_each_node_has_a_port_of_its_own_on_this_machine_only(self):
        ports = sorted(port for node in (NODES | TLS_NODES).values() for port in node["ports"])
        self.assertEqual(ports, [f"127.0.0.1:{port}:6379/tcp"
                                 for port in [*range(7101, 7106), *range(7111, 7116)]])

    def test_each_node_is_checked_and_comes_back(self):
        for name, node in (NODES | TLS_NODES).items():
            with self.subTest(name):
                self.assertIn("PONG", node["healthcheck"]["test"][-1])
                self.assertEqual(node["restart"], "unless-stopped")

    def test_the_demo_waits_for_the_nodes_and_uses_them_all(self):
        demo = CONFIG["services"]["demo"]
        enrolled = {"enroll": {"condition": "service_completed_successfully"}}
        self.assertEqual(HEALTHY | enrolled, demo["depends_on"])
        self.assertEqual(demo["command"],
                         ["--nodes", ",".join(f"redis://{name}" for name in sorted(NODES))])

    def test_with_tls_the_demo_uses_those_nodes(self):
        demo = CONFIG["services"]["demo-tls"]
        enrolled = {"enroll-tls": {"condition": "service_completed_successfully"}}
        self.assertEqual(healthy(TLS_NODES) | enrolled, demo["depends_on"])
        nodes = ",".join(f"rediss://{name}" for name in sorted(TLS_NODES))
        self.assertEqual(demo["command"], ["--nodes", nodes])
        enroll = CONFIG["services"]["enroll-tls"]
        self.assertEqual(enroll["environment"]["QUORUMLOCK_NODES"], nodes)
        self.assertEqual(enroll["command"], CONFIG["services"]["enroll"]["command"])

    def test_with_tls_nothing_starts_unless_asked_for(self):
        for name, service in CONFIG["services"].items():
            if name not in [*NODES, "enroll", "demo"]:
                with self.subTest(name):
                    self.assertEqual(service["profiles"], ["tls-demo" if name == "demo-tls" else "tls"])

    def test_the_certificate_is_for_each_node_by_its_name(self):
        service = CONFIG["services"]["certificates"]
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(service["working_dir"], "/tls")
            stub = pathlib.Path(directory, "chown")  # needs root
            stub.write_text('#!/bin/sh\necho "$*" >owner\n')
            stub.chmod(0o755)
            words = [word.replace("$$", "$") for word in service["entrypoint"] + service["command"]]
            made = []
            for _ in range(2):  # the second time changes nothing
                ended = subprocess.run(words, check=False, capture_output=True, cwd=directory,
                                       env={**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"})
                self.assertEqual(ended.returncode, 0, ended.stderr)
                made.append(pathlib.Path(directory, "node.pem").read_bytes())
            self.assertEqual(made[0], made[1])
            self.assertEqual(pathlib.Path(directory, "owner").read_text(), "999 node.key\n")
            self.assertFalse(pathlib.Path(directory, "ca.key").exists())
            for name in TLS_NODES:
                shown = subprocess.run(["openssl", "verify", "-purpose", "sslserver", "-CAfile", "ca.pem",
                                        "-verify_hostname", name, "node.pem"],
                                       capture_output=True, text=True, check=False, cwd=directory)
                self.assertEqual(shown.stdout, "node.pem: OK\n", shown.stderr)

    def test_nodes_with_tls_speak_nothing_else(self):
        for name, node in TLS_NODES.items():
            settings = dict(zip(node["command"][1::2], node["command"][2::2]))
            with self.subTest(name):
                self.assertEqual((settings["--port"], settings["--tls-port"]), ("0", "6379"))
                files = {settings[f"--tls-{file}-file"] for file in ("cert", "key", "ca-cert")}
                self.assertEqual(files, {"/tls/node.pem", "/tls/node.key", "/tls/ca.pem"})
                self.assertIn("certificates:/tls:ro", node["volumes"])

    def enrolled(self, code):
        """Returns how the service `enroll` ends if the program ends with `code`, and what it asked for."""
        service = CONFIG["services"]["enroll"]
        with tempfile.TemporaryDirectory() as directory:
            stub = pathlib.Path(directory, "quorumlock")
            stub.write_text(PROGRAM)
            stub.chmod(0o755)
            asked = pathlib.Path(directory, "asked")
            command = [word.replace("$$", "$") for word in service["entrypoint"] + service["command"]]
            ended = subprocess.run(command, check=False, capture_output=True,
                                   env={"PATH": f"{directory}:/usr/bin:/bin", "ASKED": str(asked),
                                        "CODE": str(code), **service["environment"]})
            return ended.returncode, asked.read_text().split()

    def test_the_first_start_enrolls_all_nodes(self):
        self.assertEqual(CONFIG["services"]["enroll"]["depends_on"], HEALTHY)
        nodes = ",".join(f"redis://{name}" for name in sorted(NODES))
        self.assertEqual(self.enrolled(0), (0, ["enroll", "--new", nodes]))

    def test_nodes_that_are_not_new_are_left_to_their_quarantine(self):
        self.assertEqual(self.enrolled(64)[0], 0)

    def test_the_demo_does_not_start_on_nodes_that_could_not_be_enrolled(self):
        self.assertNotEqual(self.enrolled(69)[0], 0)

    def test_the_program_is_in_the_image(self):
        built = {service["image"] for service in CONFIG["services"].values() if "build" in service}
        self.assertEqual(built, {CONFIG["services"]["demo"]["image"]})
        made = (ROOT / "Dockerfile").read_text()
        self.assertRegex(made, r"/tools/cli/quorumlock /usr/local/bin/")
        self.assertRegex(made, r"install .* openssl ")  # the service `certificates` runs it

    def test_the_demo_is_built_on_pinned_images(self):
        lines = (ROOT / "Dockerfile").read_text().splitlines()
        bases = [line.split()[1] for line in lines if line.startswith("FROM ")]
        self.assertTrue(bases)
        for base in bases:
            self.assertRegex(base, r"^debian:bookworm-\d{8}-slim$")


if __name__ == "__main__":
    unittest.main()
