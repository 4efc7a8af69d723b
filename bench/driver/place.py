"""The paths of the programs, and a description of the machine."""

import datetime
import os
import pathlib
import subprocess

from recipes import servers

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECIPES = ROOT / "bench/recipes"


def commit() -> str:
    """Returns the commit of what is measured, with a + if files that count are changed since."""
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(ROOT), *words], check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    try:
        changed = git("status", "--porcelain", "--", "lib", "include", "admin", "bench/*.?pp")
        return git("rev-parse", "--short=8", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> dict:
    model = "unknown processor"
    with open("/proc/cpuinfo") as info:
        model = next((line.split(":", 1)[1].strip() for line in info if "model name" in line),
                     model)
    return {"commit": commit(), "cores": os.cpu_count(), "model": model, "kernel": os.uname().release,
            "load": os.getloadavg()[0], "when": datetime.datetime.now().isoformat("T", "seconds"),
            "redis": servers.version_of(["redis-server", "--version"], r"v=(\S+)")}


def sentence(about: dict) -> str:
    return ("commit {commit}, {cores} cores ({model}), Linux {kernel}, redis {redis}, {when}, load "
            "{load:.1f} at the start".format(**about))
