#!/usr/bin/env python3
"""Checks debian/ and the unit of systemd against the project, for what a change elsewhere would silently break.

    debian_test.py PROGRAM
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
wrong = []


def text_of(name):
    return (ROOT / name).read_text()


def expect(held, sentence):
    if not held:
        wrong.append(sentence)


def paragraphs(name):
    """The paragraphs of a control file, each with its fields by name."""
    for paragraph in re.split(r"\n{2,}", text_of(name).strip()):
        fields = re.findall(r"^(\S+):((?:.*\n?)(?:[ \t].*\n?)*)", paragraph, re.M)
        yield {field: value.strip() for field, value in fields}


def check_versions():
    version = re.search(r"project\(quorumlock VERSION (\S+)", text_of("CMakeLists.txt")).group(1)
    said = re.match(r"quorumlock \((\S+?)\) ", text_of("debian/changelog")).group(1)
    expect(said == version, f"debian/changelog is for {said}, CMakeLists.txt for {version}")
    header = text_of("include/quorumlock/version.hpp")
    parts = ".".join(re.findall(r"define QUORUMLOCK_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", header))
    text = re.search(r'define QUORUMLOCK_VERSION "(.*)"', header)[1]
    expect(parts == text == version, f"version.hpp is for {parts} and says {text}, CMakeLists.txt for {version}")
    expect(f"## [{version}]" in text_of("CHANGELOG.md"), f"CHANGELOG.md has no section {version}")
    package = "libquorumlock" + ".".join(version.split(".")[:2])  # lib/CMakeLists.txt: SOVERSION
    names = [fields["Package"] for fields in paragraphs("debian/control") if "Package" in fields]
    expect(names == [package, "libquorumlock-dev", "quorumlock", "quorumlock-node"],
           f"debian/control has {names}: the library's package has the name of its soname, {package}")
    expect(f"--version-info='{package} (>= $(DEB_VERSION_UPSTREAM))'" in text_of("debian/rules"),
           f"debian/rules does not make users of the library depend on {package}")
    expect((ROOT / f"debian/{package}.install").is_file(), f"there is no debian/{package}.install")


def check_dependencies():
    """Checks that a build of the packages depends on what tools/setup.sh installs for a build, and that tools/package
    installs what such a build depends on. dpkg-buildpackage itself wants build-essential."""
    listed = re.search(r"build_packages=\((.*?)\)", text_of("tools/setup.sh"), re.S).group(1).split()
    source = next(paragraphs("debian/control"))
    depends = re.findall(r"^ *([a-z0-9.+-]+)", source["Build-Depends"], re.M)
    essential, renamed = {"g++"}, {"pkg-config": "pkgconf"}
    for package in listed:
        if package not in essential:
            expect(renamed.get(package, package) in depends,
                   f"debian/control does not build-depend on {package}, tools/setup.sh installs it")
    installed = re.search(r"^packages=\((.*?)\)", text_of("tools/package"), re.M | re.S).group(1).split() + listed
    for package in [*depends, "build-essential"]:
        names = {package, package.removesuffix("-compat"), *(k for k, v in renamed.items() if v == package)}
        expect(names & set(installed), f"tools/package does not install {package}")


def check_license():
    def words(text):
        return re.sub(r"\n +\.?", "\n", text).split()

    license_text = text_of("LICENSE").split("\n\n", 2)[2]
    expect(" ".join(words(license_text)) in " ".join(words(text_of("debian/copyright"))),
           "debian/copyright has another text than LICENSE")


def installed_pages():
    """The files of the repository that libquorumlock-dev has below its folder of documentation, by their paths there."""
    base, found = "usr/share/doc/libquorumlock-dev", {}

    def put(source, folder):
        for path in [source, *source.rglob("*")] if source.is_dir() else [source]:
            found[os.path.normpath(os.path.join(folder, path.relative_to(source.parent)))] = path

    for line in text_of("debian/libquorumlock-dev.install").splitlines():
        *patterns, target = line.split()
        if target.startswith(base):
            for pattern in patterns:
                for source in ROOT.glob(pattern):
                    put(source, target[len(base):].lstrip("/"))
    for pattern in text_of("debian/libquorumlock-dev.examples").split():
        for source in ROOT.glob(pattern):
            put(source, "examples")
    for line in text_of("debian/libquorumlock-dev.links").splitlines():
        name = line.split()[1].removeprefix(base + "/")
        found[name] = ROOT / name
    for name in re.findall(rf"^\tcp (\S+) debian/libquorumlock-dev/{base}/$", text_of("debian/rules"), re.M):
        found[name] = ROOT / name
    return found


def check_pages():
    """No link of an installed page leads nowhere, and no page is compressed, which none could lead to."""
    pages = installed_pages()
    expect({"README.md", "docs/watching.md", "docs/pictures/acquire.svg", "examples/lead.cpp"} <= set(pages),
           f"libquorumlock-dev has only {sorted(pages)}")
    for name, path in pages.items():
        if path.suffix != ".md":
            continue
        for target in re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", path.read_text()):
            there = os.path.normpath(os.path.join(os.path.dirname(name), target))
            expect(re.match("[a-z]+:", target) or there in pages or any(its.startswith(there + "/") for its in pages),
                   f"{name} of libquorumlock-dev links to {target}, which the package does not have")
    left = set(re.findall(r"-X(\S+)", re.search(r"^\tdh_compress (.*)$", text_of("debian/rules"), re.M)[1]))
    expect({path.suffix for path in pages.values() if path.suffix in (".md", ".svg", ".yml")} <= left,
           f"dh_compress leaves only {left} as they are")
    examples = text_of("debian/quorumlock.examples").split()
    for name in ("packaging/grafana", "packaging/prometheus", "packaging/kubernetes", "examples/services"):
        expect(name in examples, f"no package has {name}")


def check_unit(program):
    unit = text_of("packaging/systemd/quorumlock-run@.service")
    words = re.search(r"^ExecStart=/usr/bin/quorumlock (.*)$", unit, re.M).group(1)
    values = {"$OPTIONS": "--ttl 10s", "${RESOURCE}": "billing", "$COMMAND": "true"}
    for variable, value in values.items():
        expect(variable in words, f"the unit does not use {variable}")
        words = words.replace(variable, value)
    # There is no such node: the program understands the line if it gets as far as asking for a quorum.
    words = words.replace("--wait forever", "--wait 0s")
    done = subprocess.run([program, "--nodes", "unix:///nowhere/1", *words.split()], text=True,
                          capture_output=True)
    expect(done.returncode == 69, f"the unit's command ends with {done.returncode}: {done.stderr}")
    expect("64" in re.search(r"^RestartPreventExitStatus=(.*)$", unit, re.M).group(1).split(),
           "the unit starts a command with a mistake again and again")


def check_serve_unit(program):
    unit = text_of("packaging/systemd/quorumlock-serve.service")
    expect(text_of("debian/quorumlock.install").count("quorumlock-serve.service") == 1, "no package has the unit of serve")
    expect("dh_installsystemd --no-enable" in text_of("debian/rules"), "the unit of serve starts when the package is installed")
    words = re.search(r"^ExecStart=/usr/bin/quorumlock (.*)$", unit, re.M).group(1).split()
    if subprocess.run([program, "serve", "--help"], capture_output=True).returncode != 0:
        return  # this program is built without serve
    for options, code in (["--listen", "127.0.0.1:0"], 0), (["--listen", "0.0.0.0:0"], 64):
        its = [program, "--nodes", "unix:///nowhere/1", *(words[:-1] + options)]
        with subprocess.Popen(its, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as serve:
            if code == 0:
                expect("listening on" in serve.stdout.readline(), "the unit's command does not listen")
                serve.terminate()
            serve.communicate()
            expect(serve.returncode == code, f"the unit's command ends with {serve.returncode}, not {code}")
    expect(words[-1] == "$OPTIONS", "the unit of serve takes no options")
    expect("64" in re.search(r"^RestartPreventExitStatus=(.*)$", unit, re.M).group(1).split(),
           "the unit starts serve with a mistake again and again")
    if shutil.which("systemd-analyze"):
        with tempfile.TemporaryDirectory() as folder:
            # The program is not installed where the unit has it.
            here = Path(folder, "quorumlock-serve.service")
            here.write_text(unit.replace("/usr/bin/quorumlock", str(Path(program).resolve())).replace("Documentation", "# Documentation"))
            done = subprocess.run(["systemd-analyze", "verify", here], text=True, capture_output=True)
            expect(done.returncode == 0 and not done.stderr, f"systemd-analyze verify: {done.stderr}")


def check_enroll_unit(program):
    unit = text_of("packaging/systemd/quorumlock-enroll.service")
    expect(text_of("debian/quorumlock.install").count("quorumlock-enroll.service") == 1, "no package has the unit of enroll --watch")
    words = re.search(r"^ExecStart=/usr/bin/quorumlock (.*)$", unit, re.M).group(1).split()
    its = [program, "--nodes", "unix:///nowhere/1", *words[:-1]]
    with subprocess.Popen(its, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | {"NOTIFY_SOCKET": "@nobody"}) as enroll:
        expect("NOTIFY_SOCKET" in enroll.stderr.readline(), "the unit's command says nothing to the service manager")
        enroll.terminate()
        enroll.communicate()
        expect(enroll.returncode == 0, f"the unit's command ends with {enroll.returncode}")
    serve = text_of("packaging/systemd/quorumlock-serve.service")
    for line in re.findall(r"^(?:Protect|Restrict|Private|System|Lock|Memory|Cap).*$", serve, re.M):
        if not line.startswith("Restart"):
            expect(line in unit, f"the unit of enroll --watch lacks {line}")


def check_node_unit():
    """The node of the package runs, and is as durable as those of docker-compose.yml and of Kubernetes."""
    durable = {"appendonly": "yes", "appendfsync": "always", "no-appendfsync-on-rewrite": "no", "save": "",
               "maxmemory-policy": "noeviction"}
    for name in ("docker-compose.yml", "packaging/kubernetes/nodes.yaml"):
        words = re.findall(r"^ +- (\S+)$", text_of(name), re.M)
        for setting, value in durable.items():
            expect((f"--{setting}", value) in zip(words, [word.strip('"') for word in words[1:]]),
                   f"{name} does not set {setting} to {value!r}")
    unit = text_of("packaging/systemd/quorumlock-node@.service")
    expect(text_of("debian/quorumlock-node.install").split()
           == ["packaging/node.conf", "etc/quorumlock", "packaging/systemd/quorumlock-node@.service", "lib/systemd/system"],
           "no package has the node and its configuration")
    program, *words = re.search(r"^ExecStart=@(.*)$", unit, re.M).group(1).split()
    node = next(fields for fields in paragraphs("debian/control") if fields.get("Package") == "quorumlock-node")
    expect(re.match(r"redis-tools \(", node["Depends"]) and program == "/usr/bin/redis-check-rdb",
           f"quorumlock-node runs {program}, and depends on {node['Depends']}")
    with tempfile.TemporaryDirectory() as folder:
        socket = str(Path(folder, "s"))
        words = [{"/etc/quorumlock/node.conf": str(ROOT / "packaging/node.conf"), "%i": "0",
                  "/var/lib/quorumlock-node/%i": folder}.get(word, word) for word in words]
        with subprocess.Popen([*words, "--unixsocket", socket], stdout=subprocess.PIPE, text=True,
                              executable=shutil.which("redis-check-rdb") or shutil.which("redis-server"),
                              env=os.environ | {"NOTIFY_SOCKET": "@nobody"}) as server:
            for line in server.stdout:
                if "ready to accept connections" in line:
                    break
            said = subprocess.run(["redis-cli", "-s", socket, "CONFIG", "GET", *durable, "protected-mode"], text=True,
                                  capture_output=True).stdout.splitlines()
            server.terminate()
            server.stdout.read()
        its = dict(zip(said[::2], said[1::2]))
        for setting, value in (durable | {"protected-mode": "yes"}).items():
            expect(its.get(setting) == value, f"the node's {setting} is {its.get(setting)!r}")
        if shutil.which("systemd-analyze"):
            here = Path(folder, "quorumlock-node@7101.service")
            here.write_text(unit)
            done = subprocess.run(["systemd-analyze", "verify", here], text=True, capture_output=True)
            expect(done.returncode == 0 and not done.stderr, f"systemd-analyze verify: {done.stderr}")


def check_removal():
    """A removal stops each service, and a purge leaves no instance of a template enabled: debhelper sees to neither."""
    for unit in sorted(ROOT.glob("packaging/systemd/*.service")):
        package = next(path.stem for path in ROOT.glob("debian/*.install") if unit.name in path.read_text())
        scripts = [ROOT / f"debian/{package}.{script}" for script in ("prerm", "postrm")]
        stop, forget = (path.read_text() if path.is_file() else "" for path in scripts)
        template = unit.stem.endswith("@")
        name = f"'{unit.stem}*.service'" if template else unit.name
        expect(name in " ".join(re.findall(r"^\tdeb-systemd-invoke stop (.*)$", stop, re.M)).split(),
               f"{scripts[0].name} does not stop {name}")
        line = f"\trm -f /etc/systemd/system/multi-user.target.wants/{unit.stem}*.service\n"
        expect(not template or line in forget, f"{scripts[1].name} lacks: {line.strip()}")


def main():
    check_versions()
    check_dependencies()
    check_license()
    check_pages()
    check_unit(sys.argv[1])
    check_serve_unit(sys.argv[1])
    check_enroll_unit(sys.argv[1])
    check_node_unit()
    check_removal()
    for line in wrong:
        print(line)
    print(f"debian: {len(wrong)} mistakes")
    sys.exit(1 if wrong else 0)


main()
