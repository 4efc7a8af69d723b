#!/usr/bin/env python3
"""The recipes of packaging/ for vcpkg, Conan and Docker: they parse, what they name exists, and they pass options that
CMakeLists.txt has. vcpkg, Conan and Docker themselves are not run: the port is read with CMake and stand-ins for
vcpkg's functions, and the recipe by Python with stand-ins for Conan's. The step of the Dockerfile that collects the
image's files is run, and then the program among them.

    recipes_test.py PROGRAM
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
PORT = ROOT / "packaging/vcpkg/quorumlock"
RECIPE = ROOT / "packaging/conan/conanfile.py"
DOCKERFILE = ROOT / "packaging/docker/Dockerfile"
PROGRAM = None

CMAKE = (ROOT / "CMakeLists.txt").read_text()
VERSION = re.search(r"project\(quorumlock VERSION (\S+)", CMAKE)[1]
OPTIONS = set(re.findall(r"^(?:option|set)\((QUORUMLOCK_\w+)", CMAKE, re.M))

# Each stand-in writes down what it was called with.
VCPKG = """\
cmake_minimum_required(VERSION 3.25)
set(CURRENT_PACKAGES_DIR "{work}")
set(PORT quorumlock)
set(VCPKG_LIBRARY_LINKAGE dynamic)
set(FEATURES tls tools)
set(PKGCONFIG pkg-config)
foreach(name vcpkg_find_acquire_program vcpkg_check_features vcpkg_cmake_configure vcpkg_cmake_install
    vcpkg_cmake_config_fixup vcpkg_fixup_pkgconfig vcpkg_copy_tools vcpkg_install_copyright)
  cmake_language(EVAL CODE "macro(${{name}})\\nmessage(NOTICE \\"${{name}} \\${{ARGN}}\\")\\nendmacro()")
endforeach()
include("{port}/portfile.cmake")
"""


class Vcpkg(unittest.TestCase):
    def test_the_manifest_is_of_this_version(self):
        manifest = json.loads((PORT / "vcpkg.json").read_text())
        self.assertEqual(manifest["version"], VERSION)
        self.assertEqual(manifest["name"], PORT.name)
        self.assertEqual(list(manifest["features"]), ["testing", "tls", "tools"])

    def test_cmake_reads_the_port(self):
        with tempfile.TemporaryDirectory() as work:
            script = pathlib.Path(work, "port.cmake")
            script.write_text(VCPKG.format(work=work, port=PORT))
            done = subprocess.run(["cmake", "-P", script], text=True, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(pathlib.Path(work, "share/quorumlock/usage").is_file())
        self.assertIn(f"vcpkg_cmake_configure SOURCE_PATH;{ROOT};", done.stderr)
        self.assertIn("-DQUORUMLOCK_SHARED=1", done.stderr)
        self.assertIn(f"vcpkg_install_copyright FILE_LIST;{ROOT}/LICENSE", done.stderr)
        self.assertNotIn("patch", done.stderr.lower())

    def test_it_passes_options_that_exist(self):
        named = set(re.findall(r"QUORUMLOCK_\w+", (PORT / "portfile.cmake").read_text()))
        self.assertLessEqual(named, OPTIONS)


def conan_modules():
    """Stand-ins for what the recipe imports."""
    def copy(recipe, pattern, src, dst):
        for path in sorted(pathlib.Path(src).glob(pattern.replace("/*", "/**/*"))):
            if path.is_file():
                target = pathlib.Path(dst, path.relative_to(src))
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)

    modules = {name: types.ModuleType(name) for name in (
        "conan", "conan.tools", "conan.tools.build", "conan.tools.cmake", "conan.tools.files", "conan.tools.gnu")}
    modules["conan"].ConanFile = type("ConanFile", (), {})
    modules["conan.tools.build"].check_min_cppstd = mock.Mock()
    for name in ("CMake", "CMakeDeps", "CMakeToolchain", "cmake_layout"):
        setattr(modules["conan.tools.cmake"], name, mock.Mock())
    modules["conan.tools.files"].copy = copy
    modules["conan.tools.files"].load = lambda recipe, path: pathlib.Path(path).read_text()
    modules["conan.tools.files"].rmdir = mock.Mock()
    modules["conan.tools.gnu"].PkgConfigDeps = mock.Mock()
    return modules


class Conan(unittest.TestCase):
    def setUp(self):
        self.modules = conan_modules()
        space = {"__name__": "conanfile"}
        with mock.patch.dict(sys.modules, self.modules):
            exec(compile(RECIPE.read_text(), RECIPE, "exec"), space)
        self.recipe = space["QuorumlockConan"]()
        self.recipe.recipe_folder = str(RECIPE.parent)
        self.recipe.options = types.SimpleNamespace(shared=True, fPIC=True, tls=True, testing=True)
        self.recipe.settings = types.SimpleNamespace(os="Linux")
        self.recipe.requires = mock.Mock()
        self.recipe.tool_requires = mock.Mock()

    def options(self):
        toolchain = self.modules["conan.tools.cmake"].CMakeToolchain.return_value
        toolchain.cache_variables = {}
        self.recipe.generate()
        return toolchain.cache_variables

    def test_it_is_of_this_version(self):
        self.recipe.set_version()
        self.assertEqual(self.recipe.version, VERSION)

    def test_it_requires_what_the_library_is_linked_with(self):
        self.recipe.requirements()
        names = {call.args[0].split("/")[0] for call in self.recipe.requires.call_args_list}
        self.assertEqual(names, {"c-ares", "hiredis", "libuv", "nlohmann_json", "openssl", "luajit"})

    def test_it_passes_options_that_exist(self):
        self.assertLessEqual(self.options().keys(), OPTIONS)

    def test_its_sources_are_complete(self):
        with tempfile.TemporaryDirectory() as work:
            self.recipe.export_sources_folder = work + "/sources"
            self.recipe.export_sources()
            words = [f"-D{name}={'ON' if value else 'OFF'}" for name, value in self.options().items()]
            done = subprocess.run(["cmake", "-S", work + "/sources", "-B", work + "/build", *words], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_hiredis_is_the_one_that_pkg_config_finds(self):
        """Conan and vcpkg have each dependency in a folder that no compiler searches by itself."""
        with tempfile.TemporaryDirectory() as work:
            theirs, system = pathlib.Path(work, "hiredis"), pathlib.Path(work, "system/hiredis")
            shutil.copytree("/usr/include/hiredis", theirs / "include/hiredis")
            system.mkdir(parents=True)
            (system / "read.h").write_text("#error \"hiredis of the system\"\n")
            (theirs / "lib/pkgconfig").mkdir(parents=True)
            (theirs / "lib/libhiredis.a").touch()
            (theirs / "lib/pkgconfig/hiredis.pc").write_text(
                "prefix=${pcfiledir}/../..\nName: hiredis\nDescription: hiredis\nVersion: 1.2.0\n"
                "Libs: -L${prefix}/lib -lhiredis\nCflags: -I${prefix}/include\n")
            words = [f"-D{name}={'ON' if value else 'OFF'}" for name, value in self.options().items()]
            subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", work + "/build", *words,
                            f"-DCMAKE_CXX_FLAGS=-isystem {system.parent}"], check=True, capture_output=True,
                           env={**os.environ, "PKG_CONFIG_PATH": str(theirs / "lib/pkgconfig")})
            cache = pathlib.Path(work, "build/CMakeCache.txt").read_text()
            library = re.search(r"QUORUMLOCK_HIREDIS:FILEPATH=(.*)", cache)[1]
            self.assertTrue(os.path.samefile(library, theirs / "lib/libhiredis.a"), library)
            done = subprocess.run(["ninja", "-C", work + "/build",
                                   "lib/CMakeFiles/quorumlock_objects.dir/wire/reply.cpp.o"], text=True,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_its_users_get_the_names_of_cmake(self):
        components = {}
        self.recipe.cpp_info = mock.MagicMock()
        self.recipe.cpp_info.components.__getitem__.side_effect = lambda name: components.setdefault(
            name, mock.MagicMock())
        self.recipe.package_info()
        names = {name: [call.args[1] for call in component.set_property.call_args_list
                        if call.args[0] == "cmake_target_name"] for name, component in components.items()}
        self.assertEqual(names, {"core": ["quorumlock::quorumlock"], "admin": ["quorumlock::admin"],
                                 "asio": ["quorumlock::asio"],
                                 "testing": ["quorumlock::testing"]})


class Image(unittest.TestCase):
    def setUp(self):
        text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.M).replace("\\\n", " ")
        self.steps = [line.split(None, 1) for line in text.splitlines() if line.strip()]

    def test_it_has_the_program_and_nothing_else(self):
        last = max(number for number, step in enumerate(self.steps) if step[0] == "FROM")
        self.assertEqual(self.steps[last][1], "scratch")
        self.assertEqual([word for word, _ in self.steps[last + 1:]], ["COPY", "USER", "ENTRYPOINT"])
        self.assertEqual(json.loads(self.steps[-1][1]), ["/usr/bin/quorumlock"])

    def test_no_builder_ignores_a_part_of_it(self):
        """An image in the format of OCI, which buildah and podman make unless asked otherwise, has no SHELL."""
        for file in DOCKERFILE, ROOT / "Dockerfile":
            self.assertNotRegex(file.read_text(), r"(?m)^SHELL\b")

    def test_its_first_stage_is_pinned_and_its_commands_are_shell(self):
        self.assertRegex(self.steps[0][1], r"^debian:bookworm-\d{8}-slim AS build$")
        for word, rest in self.steps:
            if word == "RUN":
                subprocess.run(["bash", "-n"], input=rest, text=True, check=True)
                for name in re.findall(r"-D(QUORUMLOCK_\w+)", rest):
                    self.assertIn(name, OPTIONS)

    def test_the_program_runs_on_what_is_collected(self):
        collect = next(rest for word, rest in self.steps if word == "RUN" and "collect" in rest)
        self.assertEqual(collect, "packaging/docker/collect build/image/tools/cli/quorumlock /image")
        with tempfile.TemporaryDirectory() as image:
            subprocess.run([ROOT / "packaging/docker/collect", PROGRAM, image], check=True)
            # The command runs in a user namespace of its own, so that chroot does not need root.
            enter = ["chroot"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "chroot"]
            done = subprocess.run([*enter, image, "/usr/bin/quorumlock", "--version"], text=True, capture_output=True,
                                  check=False)
            self.assertEqual(done.stdout, f"quorumlock {VERSION}\n", done.stderr)
            self.assertFalse(pathlib.Path(image, "bin/sh").exists())


if __name__ == "__main__":
    PROGRAM = sys.argv.pop()
    unittest.main()
