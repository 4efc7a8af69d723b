#!/usr/bin/env python3
"""Checks the documentation site that tools/docs has built: no link is dead, no anchor is missing, nothing is loaded from
the network, every class of the public headers has a page, each picture follows the reader's choice of colours, and the
search finds options, commands and metrics by their names.

    site_test.py [SITE]            checks build/docs/site, or that site
    site_test.py --build PROGRAM   builds it first (tools/docs --offline PROGRAM); ends with 77, for "skipped", if
                                   Doxygen or MkDocs is not installed
    site_test.py --browser SITE    also reads each page in Chromium: the console must stay silent; ends with 77 if Chromium
                                   is not installed
"""

import html.parser
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src"}  # what a browser loads without being asked
LOADED_RELATIONS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.anchors, self.links, self.loads = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.update(value for value in (values.get("id"), tag == "a" and values.get("name")) if value)
        if tag == "link" and LOADED_RELATIONS & set((values.get("rel") or "").split()):
            self.loads.append(values.get("href") or "")
        elif tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in LOADED and values.get(LOADED[tag]):
            self.loads.append(values[LOADED[tag]])


def violations(site):
    pages = {path: Page(path.read_text(errors="replace")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        for target in page.loads:
            if re.match(r"(https?:)?//", target):
                yield f"{name}: loads {target} from the network"
        for target in page.links + page.loads:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or target.startswith("//"):
                continue
            file = urllib.parse.unquote(parts.path)
            if not file:
                found = path
            else:
                found = site / file.lstrip("/") if file.startswith("/") else path.parent / file
                found = found / "index.html" if file.endswith("/") or found.is_dir() else found
                found = pathlib.Path(*found.parts).resolve()
            if not found.exists():
                yield f"{name}: {target} is not there"
            elif parts.fragment and found in pages:
                anchor = urllib.parse.unquote(parts.fragment)
                if anchor not in pages[found].anchors and parts.fragment not in pages[found].anchors:
                    yield f"{name}: {target} has no such anchor"
    for path in sorted(site.rglob("*.css")):
        if re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", path.read_text(errors="replace")):
            yield f"{path.relative_to(site)}: loads something from the network"


def missing_classes(site):
    for header in sorted((ROOT / "include/quorumlock").glob("*.hpp")):
        text = re.sub(r"namespace ((?:quorumlock::)?detail) \{.*?\n\}  // namespace \1", "", header.read_text(),
                      flags=re.S)
        space = "testing_1_1" if header.stem == "testing" else ""
        for kind, name in re.findall(r"^(class|struct) (?:\[\[\w+\]\] )?(?:QUORUMLOCK_EXPORT )?(\w+)(?!\w|::)[^;]*\{", text, re.M):
            if not any(site.glob(f"reference/{kind}quorumlock_1_1{space}*{name}.html")):
                yield f"{header.name}: the reference has no page on {name}"


def options_of_program():
    """The options in the sources of the program, but for one that is refused with a reason."""
    text = "".join(path.read_text() for path in sorted((ROOT / "tools/cli").rglob("*.cpp")))
    return sorted(set(re.findall(r'"(?:-\w,)?(--[a-z][a-z-]+)["=,]', text)) - {"--version", "--help", "--trust-disk"})


def not_found(site, index):
    """Names that the search does not find, or finds where there is no such anchor."""
    wanted = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/configuration.md").read_text(), re.M))
    wanted |= {"acquire", "doctor", "cluster start", "members plan", "acquire --ttl", "run --explain", "bench --keys",
               "cluster start --tls", "members apply --force", "quorumlock_acquired_total", "quorumlock_wait_seconds",
               "Coordinator", "max_hold"}
    titles = {html.unescape(entry["title"]) for entry in index["docs"]}
    for option in options_of_program():
        if not any(title == option or title.endswith(" " + option) for title in titles):
            yield f"the search does not find {option}"
    pages = set()
    for entry in index["docs"]:
        file, _, anchor = entry["location"].partition("#")
        if anchor and file not in pages:
            yield f"the search ends at {entry['location']}, since no entry before it is of its page"
            break
        pages.add(file)
    places = {}
    for entry in index["docs"]:
        places.setdefault(html.unescape(entry["title"]).removeprefix("quorumlock "), []).append(entry["location"])
    for name in sorted(wanted):
        where = [place for place in places.get(name, []) if "#" in place]
        if not where:
            yield f"the search does not find {name}"
        for place in where:
            file, _, anchor = place.partition("#")
            if anchor not in Page((site / file).read_text()).anchors:
                yield f"the search finds {name} at {place}, and there is no such anchor"


def pictures_that_do_not_follow(site):
    for path in sorted(site.rglob("*.svg")):
        text = path.read_text()
        if path.parent.name in ("pictures", "plots") and "prefers-color-scheme" in text:
            yield f"{path.relative_to(site)} follows the system, and not the reader's choice"
    for path in sorted(site.glob("*.html")):
        text = path.read_text()
        light, dark = (set(re.findall(rf'src="((?:pictures|bench/plots)/[\w-]+){end}"', text))
                       for end in (r"\.svg#only-light", r"\.dark\.svg#only-dark"))
        for name in light ^ dark:
            yield f"{path.name} does not show both forms of {name}"
        if re.search(r'src="(?:pictures|bench/plots)/[\w-]+\.svg"', text):
            yield f"{path.name} shows a picture in all colours"


def left_out():
    """Each page of docs/ is in the navigation, and each picture is shown by a page and has a dark form."""
    navigation = (ROOT / "packaging/docs/mkdocs.yml").read_text()
    pages = sorted((ROOT / "docs").glob("*.md"))
    for page in pages:
        if not re.search(rf": {re.escape(page.name)}$", navigation, re.M):
            yield f"{page.name} is not in packaging/docs/mkdocs.yml"
    shown = "".join(page.read_text() for page in [ROOT / "README.md", *pages])
    for picture in sorted((ROOT / "docs/pictures").glob("*.svg")):
        text = picture.read_text()
        xml.etree.ElementTree.fromstring(text)
        if f"pictures/{picture.name})" not in shown:
            yield f"{picture.name} is shown by no page"
        for part in ("prefers-color-scheme: dark", "<title ", "<desc "):
            if part not in text:
                yield f"{picture.name} has no {part.strip('< ')}"


def silent_in_browser(site, chromium):
    """Returns what Chromium prints when it reads the pages from our own server."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words):
            pass

    def handler(*words, **named):
        return Quiet(*words, directory=str(site), **named)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, \
            tempfile.TemporaryDirectory() as profile:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        pages = [path.relative_to(site) for path in sorted(site.rglob("*.html"))
                 if path.parts[len(site.parts)] != "reference" or path.name in ("annotated.html", "files.html")]
        for page in pages:
            done = subprocess.run(
                [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--disable-background-networking", "--disable-component-update", "--no-first-run",
                 f"--user-data-dir={profile}", "--enable-logging=stderr", "--log-level=0", "--virtual-time-budget=3000",
                 "--dump-dom", f"http://127.0.0.1:{server.server_address[1]}/{page}"],
                text=True, capture_output=True, timeout=120, check=False)
            for line in done.stderr.splitlines():
                if ":CONSOLE" in line and not re.search(r'"\[?(?:Verbose|DOM)', line):
                    yield f"{page}: {line}"
            if "<h1" not in done.stdout and 'class="title"' not in done.stdout:
                yield f"{page}: Chromium shows no heading ({len(done.stdout)} characters)"
        server.shutdown()
        print(f"{len(pages)} pages were read in a browser")


def self_check():
    """Each rule must find the mistake that it is for."""
    good = '<a href="b.html#there">b</a><a href="https://example.org/">x</a><img src="p.svg">'
    other = '<h1 id="there">b</h1><a href="a.html">a</a><a href="#there">up</a>'
    for words, text in (("is not there", '<a href="c.html">'), ("no such anchor", '<a href="b.html#nowhere">'),
                        ("is not there", '<img src="none.svg">'), ("no such anchor", '<a href="#nowhere">'),
                        ("from the network", '<script src="https://example.org/x.js"></script>'),
                        ("from the network", '<link rel="stylesheet" href="//example.org/x.css">'), (None, "")):
        with tempfile.TemporaryDirectory() as directory:
            site = pathlib.Path(directory).resolve()
            (site / "a.html").write_text(good + text)
            (site / "b.html").write_text(other)
            (site / "p.svg").write_text("<svg/>")
            found = list(violations(site))
            if [words in sentence for sentence in found] != ([] if words is None else [True]):
                yield f"self-check: {text!r} gives {found}"


def main():
    words = sys.argv[1:]
    if words[:1] == ["--build"]:
        missing = [program for program in ("doxygen", "mkdocs") if shutil.which(program) is None]
        if missing:
            print(f"the site was not built: {' and '.join(missing)} is not installed (doxygen, mkdocs-material)")
            return SKIPPED
        return subprocess.run([ROOT / "tools/docs", "--offline", *words[1:]], check=False).returncode
    browser = words[:1] == ["--browser"]
    site = pathlib.Path(words[-1] if words[browser:] else ROOT / "build/docs/site").resolve()
    if not (site / "index.html").exists():
        print(f"{site} has no index.html: run tools/docs")
        return 1
    index = json.loads((site / "search/search_index.json").read_text())
    found = [*self_check(), *violations(site), *missing_classes(site), *left_out(), *not_found(site, index),
             *pictures_that_do_not_follow(site)]
    if not list(not_found(site, {"docs": []})):
        found.append("self-check: an empty search is not noticed")
    if browser:
        chromium = shutil.which("chromium")
        if chromium is None:
            print("the pages were not read in a browser: chromium is not installed")
            return SKIPPED
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "a.html").write_text("<h1>a</h1><script>nowhere();</script>")
            if not list(silent_in_browser(pathlib.Path(directory).resolve(), chromium)):
                found.append("self-check: an error in a page's console is not noticed")
        found += silent_in_browser(site, chromium)
    for line in found:
        print(line)
    print(f"{len(list(site.rglob('*.html')))} pages, {len(found)} violations")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
