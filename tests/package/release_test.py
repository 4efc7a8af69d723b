#!/usr/bin/env python3
"""tools/release, in a repository of its own with stand-ins for the long commands: what it refuses, and what
a release leaves.

    release_test.py
"""

import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOOD = {
    "CMakeLists.txt": "project(quorumlock VERSION 1.2.3 LANGUAGES CXX)\n",
    "CHANGELOG.md": "# Changelog\n\n## [1.2.3] - 2026-01-31\n\n### Added\n\n- A thing.\n\n## [1.2.2] - 2026-01-01\n\n- Old.\n",
    "debian/changelog": "quorumlock (1.2.3) unstable; urgency=medium\n\n  * A thing.\n",
    ".gitignore": "/build/\n",
}
# Each stand-in writes down how it was called. The package appears once it was asked for.
STAND_IN = """#!/bin/sh
mkdir -p build/packages
echo "$0 $*" >>build/calls
[ "$0" != tools/package ] || echo package >build/packages/quorumlock_1.2.3_amd64.deb
[ ! -e "build/fail-$(basename "$0")" ]
"""


class Release(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        for name, text in GOOD.items():
            self.write(name, text)
        for tool in ("test", "package", "abi"):
            self.write(f"tools/{tool}", STAND_IN)
            (self.root / f"tools/{tool}").chmod(0o755)
        shutil.copy(ROOT / "tools/release", self.root / "tools/release")
        self.git("init", "--quiet")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *words):
        who = ["-c", "user.name=Test", "-c", "user.email=test@quorumlock.invalid"]
        return subprocess.run(["git", *who, *words], cwd=self.root, check=True, text=True,
                              capture_output=True).stdout

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "A release")

    def release(self, *words):
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "Test"), ("EMAIL", "test@quorumlock.invalid"))}
        return subprocess.run(["tools/release", *words], cwd=self.root, text=True, capture_output=True,
                              check=False, env={**os.environ, **who})

    def refused(self, sentence):
        done = self.release("--dry-run")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(sentence, done.stdout)
        self.assertIn("No release", done.stderr)
        self.assertFalse((self.root / "build").exists())

    def test_a_dry_run_prints_the_steps_and_does_nothing(self):
        done = self.release("--dry-run")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for step in ("1. tools/test --all", "tools/abi", "tools/package --check", "make tag"):
            self.assertIn(step, done.stdout)
        self.assertIn("Nothing was done", done.stdout)
        self.assertFalse((self.root / "build").exists())
        self.assertEqual(self.git("tag"), "")

    def test_a_release_runs_everything_and_is_tagged(self):
        done = self.release()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual((self.root / "build/calls").read_text().splitlines(),
                         ["tools/test --all", "tools/abi ", "tools/package --check"])
        out = self.root / "build/dist"
        self.assertEqual(sorted(path.name for path in out.iterdir()),
                         ["SHA256SUMS", "quorumlock-1.2.3.tar.gz", "quorumlock_1.2.3_amd64.deb"])
        subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=out, check=True)
        with tarfile.open(out / "quorumlock-1.2.3.tar.gz") as archive:
            self.assertIn("quorumlock-1.2.3/CMakeLists.txt", archive.getnames())
        message = self.git("tag", "--list", "--format=%(contents)", "v1.2.3")
        self.assertIn("- A thing.", message)
        self.assertNotIn("Old", message)

    def test_a_failed_step_leaves_no_tag(self):
        self.write("build/fail-package", "")
        self.assertNotEqual(self.release().returncode, 0)
        self.assertEqual(self.git("tag"), "")

    def test_changes_that_are_not_committed_are_refused(self):
        self.write("new", "")
        self.refused("not committed")

    def test_a_version_that_was_released_is_refused(self):
        self.git("tag", "v1.2.3")
        self.refused("the tag v1.2.3 exists already")

    def test_another_version_anywhere_is_refused(self):
        for name in ("CMakeLists.txt", "CHANGELOG.md", "debian/changelog"):
            with self.subTest(name):
                self.write(name, GOOD[name].replace("1.2.3", "1.2.4", 1))
                self.commit()
                self.refused("1.2.4")
                self.write(name, GOOD[name])
                self.commit()

    def test_a_contact_that_nobody_reads_is_refused(self):
        self.write("SECURITY.md", "Write to maintainers@quorumlock.invalid.\n")
        self.commit()
        self.refused("put an address in its place, by\n  sed -i")
        self.refused("/ADDRESS/' SECURITY.md\n")
        self.write("SECURITY.md", "Write to somebody@quorumlock.example.\n")
        self.commit()
        self.assertEqual(self.release("--dry-run").returncode, 0)

    def test_a_section_without_a_date_is_refused(self):
        self.write("CHANGELOG.md", GOOD["CHANGELOG.md"].replace("2026-01-31", "unreleased"))
        self.commit()
        self.refused("has no date")

    def test_an_empty_section_is_refused(self):
        self.write("CHANGELOG.md", "# Changelog\n\n## [1.2.3] - 2026-01-31\n\n## [1.2.2] - 2026-01-01\n\n- Old.\n")
        self.commit()
        self.refused("is empty")

    def test_an_unreleased_debian_changelog_is_refused(self):
        self.write("debian/changelog", GOOD["debian/changelog"].replace("unstable", "UNRELEASED"))
        self.commit()
        self.refused("UNRELEASED")


if __name__ == "__main__":
    unittest.main()
