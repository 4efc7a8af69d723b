#!/usr/bin/env python3
"""The files of .github: they parse, hosted CI runs the project's own commands and nothing else, and what
contributors are asked to read exists.

    github_test.py
"""

import re
import subprocess
import unittest
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
# What a workflow may run, each with its options.
COMMANDS = {"tools/test --all", "tools/test --nightly", "tools/package --check"}


def parse(path):
    return yaml.safe_load(path.read_text())


def jobs():
    for path in sorted((GITHUB / "workflows").glob("*.yml")):
        for name, job in parse(path)["jobs"].items():
            yield f"{path.name}: {name}", job


class Workflows(unittest.TestCase):
    def test_there_is_one_for_each_tier(self):
        run = {step["run"] for _, job in jobs() for step in job["steps"] if "run" in step}
        self.assertEqual(run, COMMANDS)

    def test_each_runs_on_debian_12_after_a_checkout(self):
        for name, job in jobs():
            with self.subTest(name):
                self.assertEqual(job["container"]["image"], "debian:12")
                self.assertRegex(job["steps"][0]["uses"], r"^actions/checkout@v\d+$")
                self.assertLessEqual(job["timeout-minutes"], 360)

    def test_each_has_a_trigger_and_may_only_read(self):
        for path in sorted((GITHUB / "workflows").glob("*.yml")):
            with self.subTest(path.name):
                document = parse(path)
                self.assertTrue(document[True])  # YAML 1.1 reads the key `on` as true
                self.assertEqual(document["permissions"], {"contents": "read"})

    def test_each_command_knows_its_option(self):
        for command in COMMANDS:
            program, option = command.split()
            with self.subTest(command):
                self.assertIn(option, (ROOT / program).read_text())
                refused = subprocess.run([ROOT / program, "--no-such-option"], capture_output=True, text=True,
                                         check=False)
                self.assertEqual(refused.returncode, 64)
                self.assertIn(option, refused.stderr)


class IssueForms(unittest.TestCase):
    def test_each_asks_something_and_requires_an_answer(self):
        paths = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
        self.assertEqual([path.stem for path in paths], ["bug", "feature"])
        for path in paths:
            with self.subTest(path.name):
                form = parse(path)
                self.assertLessEqual({"name", "description", "body"}, form.keys())
                fields = [field for field in form["body"] if field["type"] != "markdown"]
                for field in fields:
                    self.assertIn(field["type"], {"input", "textarea", "dropdown", "checkboxes"})
                    self.assertTrue(field["attributes"]["label"])
                ids = [field["id"] for field in fields]
                self.assertEqual(len(ids), len(set(ids)))
                self.assertTrue(any(field.get("validations", {}).get("required") for field in fields))

    def test_weaknesses_go_to_the_address_of_the_security_policy(self):
        url = parse(GITHUB / "ISSUE_TEMPLATE/config.yml")["contact_links"][0]["url"]
        self.assertIn(url.removeprefix("mailto:"), (ROOT / "SECURITY.md").read_text())


class Pages(unittest.TestCase):
    def test_what_they_link_to_exists(self):
        pages = sorted(GITHUB.rglob("*.md"))
        self.assertEqual([page.name for page in pages],
                         ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "pull_request_template.md"])
        for page in pages:
            for link in re.findall(r"\]\(([^)#]+)", page.read_text()):
                with self.subTest(f"{page.name}: {link}"):
                    self.assertTrue((page.parent / link).is_file())


if __name__ == "__main__":
    unittest.main()
