#!/usr/bin/env python3
"""A real Prometheus scrapes `quorumlock serve` on five nodes, of which the test kills some.

The alerts have to fire and to resolve, and every query of the Grafana dashboard has to return data. The rules are
those of packaging/prometheus, except that every `for:` is two seconds. Skipped, with the reason, if Prometheus
is not installed.

    live_test.py PROGRAM
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.local import Failure, Nodes, Observer, until  # noqa: E402

RULES = ROOT / "packaging/prometheus"
DASHBOARD = ROOT / "packaging/grafana/quorumlock.json"


def get(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as reply:
            return reply.read().decode()
    except urllib.error.HTTPError as error:
        raise Failure(f"{url}: {error.code} {error.read().decode()}") from error


class Prometheus:
    """Prometheus on any free port, which its log names."""

    def __init__(self, folder, target):
        folder = Path(folder)
        for file in RULES.glob("*.yml"):
            rules, changed = re.subn(r"\bfor: \w+", "for: 2s", file.read_text())
            (folder / file.name).write_text(rules)
            if (file.name == "alerts.yml") != (changed > 0):
                raise Failure(f"{file.name} has {changed} rules with a time")
        (folder / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["recording.yml", "alerts.yml"],
            "scrape_configs": [{"job_name": "quorumlock", "static_configs": [{"targets": [target]}]}]}))
        self.process = subprocess.Popen(
            ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data", "--log.format=json",
             "--web.listen-address=127.0.0.1:0"], cwd=folder, stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL, text=True)
        said, self.url = [], ""
        for line in self.process.stderr:
            said.append(line)
            entry = json.loads(line) if line.startswith("{") else {}
            if entry.get("msg") == "Listening on":
                self.url = f"http://{entry['address']}/api/v1/"
            if entry.get("msg") == "Server is ready to receive web requests.":
                break
        else:
            raise Failure("prometheus ended:\n" + "".join(said))
        # What Prometheus prints from now on does not matter, but the pipe has to be emptied.
        self.reader = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def ask(self, path, **query):
        reply = json.loads(get(self.url + path + "?" + urllib.parse.urlencode(query)))
        if reply["status"] != "success":
            raise Failure(f"{path} {query}: {reply}")
        return reply["data"]

    def value(self, query):
        """The values of all series of an instant query."""
        return [float(series["value"][1]) for series in self.ask("query", query=query)["result"]]

    def firing(self):
        return sorted({alert["labels"]["alertname"] for alert in self.ask("alerts")["alerts"]
                       if alert["state"] == "firing"})

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.reader.wait()


def dashboard_queries():
    """(title of the panel, query) of every query of the dashboard, with its variables replaced."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"]
            for variable, value in (("$__rate_interval", "10s"), ("$job", ".*"), ("$instance", ".*")):
                query = query.replace(variable, value)
            if "$" in query:
                raise Failure(f"{panel['title']} has a variable that this test does not know: {query}")
            yield panel["title"], query


def check_names(metrics):
    """Checks that serve has each metric in the rules and the dashboard."""
    there = set(re.findall(r"^# TYPE (\w+) ", metrics, re.M))
    there |= {name + suffix for name in there for suffix in ("_bucket", "_sum", "_count")}
    for file in [*RULES.glob("*.yml"), DASHBOARD]:
        for name in set(re.findall(r"\bquorumlock_\w+", file.read_text())):
            if name not in there:
                raise Failure(f"{file.name} names {name}, which serve does not have")
    done = subprocess.run(["promtool", "check", "metrics"], input=metrics, capture_output=True, text=True)
    if done.returncode != 0 or done.stdout or done.stderr:
        raise Failure(f"promtool check metrics: {done.stdout}{done.stderr}")


def timed(what, condition, prometheus):
    began = time.monotonic()
    try:
        until(what, condition)
    except Failure as failure:
        alerts = prometheus.ask("alerts")["alerts"]
        votes = prometheus.ask("query", query="quorumlock_node_votes")["result"]
        raise Failure(f"{failure}\nalerts: {alerts}\nvotes: {votes}") from failure
    print(f"  {time.monotonic() - began:4.1f} s  {what}", flush=True)


def check(nodes, observer, prometheus):
    def seen(what, condition):
        timed(what, condition, prometheus)

    seen("all five nodes vote, and no alert fires",
          lambda: prometheus.value("quorumlock:spare_votes") == [2.0] and prometheus.ask("alerts")["alerts"] == [])
    check_names(get(observer.url + "metrics"))

    nodes.kill(0, 3)
    seen("two of five nodes are killed, and QuorumlockNoSpareVote fires",
          lambda: "QuorumlockNoSpareVote" in prometheus.firing())
    seen("QuorumlockNodeDoesNotVote fires for both of them", lambda: len(
        prometheus.value('ALERTS{alertname="QuorumlockNodeDoesNotVote", alertstate="firing"}')) == 2)
    # On a busy machine a node may really be slow.
    others = set(prometheus.firing()) - {"QuorumlockNoSpareVote", "QuorumlockNodeDoesNotVote", "QuorumlockNodeSlow"}
    if others:
        raise Failure(f"other alerts fire, too: {others}")
    queries = list(dashboard_queries())
    for title, query in queries:
        until(f"the panel {title} has data: {query}", lambda query=query: prometheus.value(query))
    print(f"          {len(queries)} queries of the dashboard return data")

    nodes.kill(4)
    seen("a third one is killed, and QuorumlockNoQuorum fires",
          lambda: "QuorumlockNoQuorum" in prometheus.firing())
    nodes.start()
    seen("the nodes are back, and every alert resolves", lambda: prometheus.ask("alerts")["alerts"] == [])
    observer.stop()
    seen("the observer ends, and QuorumlockUnwatched fires",
          lambda: prometheus.firing() == ["QuorumlockUnwatched"])


def main():
    program = sys.argv[1]
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        print("skipped: Debian's package prometheus is not installed")
        return
    began, running = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        try:
            running.append(Nodes(program, os.path.join(folder, "cluster")))
            running.append(Observer(program, running[0]))
            running.append(Prometheus(folder, urllib.parse.urlparse(running[1].url).netloc))
            check(*running)
        except Failure as failure:
            sys.exit(f"FAILED: {failure}")
        finally:
            for each in reversed(running):
                each.stop()
    print(f"prometheus: ok, {time.monotonic() - began:.0f} s")


main()
