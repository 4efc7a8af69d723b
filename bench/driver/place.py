"""The paths of the programs, and a description of the machine."""

import datetime
import os
import pathlib

from recipes import servers

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RECIPES = ROOT / "bench/recipes"


def machine() -> dict:
    model = "unknown processor"
    with open("/proc/cpuinfo") as info:
        model = next((line.split(":", 1)[1].strip() for line in info if "model name" in line),
                     model)
    return {"cores": os.cpu_count(), "model": model, "kernel": os.uname().release,
            "load": os.getloadavg()[0], "when": datetime.datetime.now().isoformat("T", "seconds"),
            "redis": servers.version_of(["redis-server", "--version"], r"v=(\S+)")}


def sentence(about: dict) -> str:
    return ("{cores} cores ({model}), Linux {kernel}, redis {redis}, {when}, load {load:.1f} at "
            "the start".format(**about))
