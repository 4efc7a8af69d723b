"""The recipe for Conan 2. It builds the tree that it lies in, so nothing is downloaded and nothing is patched:

    conan create QUORUMLOCK/packaging/conan --build=missing
"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps


class QuorumlockConan(ConanFile):
    name = "quorumlock"
    description = "Locks on a quorum of independent Redis nodes"
    license = "MIT"
    topics = ("redis", "valkey", "redlock", "distributed-lock")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "tls": [True, False], "testing": [True, False]}
    default_options = {"shared": True, "fPIC": True, "tls": True, "testing": False}
    implements = ["auto_shared_fpic"]

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "..", "..", "CMakeLists.txt"))
        self.version = re.search(r"project\(quorumlock VERSION ([0-9.]+)", text).group(1)

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "admin/*", "cmake/*", "include/*", "lib/*", "tests/sim/*"):
            copy(self, pattern, src=top, dst=self.export_sources_folder)

    def requirements(self):
        self.requires("c-ares/[>=1.18 <2]")
        self.requires("hiredis/1.2.0")
        self.requires("libuv/[>=1.40 <2]")
        self.requires("nlohmann_json/[>=3.10 <4]")
        if self.options.tls:
            self.requires("openssl/[>=3 <4]")
        if self.options.testing:
            self.requires("luajit/2.1.0-beta3")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")
        self.tool_requires("pkgconf/[>=2]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "QUORUMLOCK_SHARED": bool(self.options.shared),
            "QUORUMLOCK_TLS": bool(self.options.tls),
            "QUORUMLOCK_TESTING": bool(self.options.testing),
            "QUORUMLOCK_INSTALL": True,
            "QUORUMLOCK_HARDENING": False,
            "QUORUMLOCK_BUILD_TESTS": False,
            "QUORUMLOCK_BUILD_BENCH": False,
            "QUORUMLOCK_BUILD_CHAOS": False,
            "QUORUMLOCK_BUILD_TOOLS": False,
        })
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        # Conan writes these for its users.
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "quorumlock")
        core = self.cpp_info.components["core"]
        core.libs = ["quorumlock"]
        core.set_property("cmake_target_name", "quorumlock::quorumlock")
        core.set_property("pkg_config_name", "quorumlock")
        core.requires = ["c-ares::c-ares", "hiredis::hiredis", "libuv::libuv", "nlohmann_json::nlohmann_json"]
        if self.options.tls:
            core.requires.append("openssl::ssl")
        if not self.options.shared:
            core.defines = ["QUORUMLOCK_STATIC"]
        if self.settings.os == "Linux":
            core.system_libs = ["pthread"]
        admin = self.cpp_info.components["admin"]
        admin.libs = ["quorumlock-admin"]
        admin.set_property("cmake_target_name", "quorumlock::admin")
        admin.set_property("pkg_config_name", "quorumlock-admin")
        admin.requires = ["core"]
        self.cpp_info.components["asio"].set_property("cmake_target_name", "quorumlock::asio")
        self.cpp_info.components["asio"].requires = ["core"]
        if self.options.testing:
            testing = self.cpp_info.components["testing"]
            testing.libs = ["quorumlock_testing"]
            testing.set_property("cmake_target_name", "quorumlock::testing")
            testing.set_property("pkg_config_name", "quorumlock-testing")
            testing.requires = ["admin", "luajit::luajit"]
