"""The code that the workers in Python share: they play the turns that bench/peers requests on stdin.

A turn is a line, "shared|own RESOURCE FIRST WAITERS START END", with both times in nanoseconds of
CLOCK_MONOTONIC. WAITERS threads acquire, do nothing, release, and begin again. The result is a JSON
object in a line. For each waiter and each lock that it had it gives three points in time, in nanoseconds since START:
when it asked, when it got the lock, and when it gave it back.
"""

import json
import sys
import threading
import time
import typing


class Lock(typing.Protocol):
    """One waiter's handle of one resource."""

    def acquire(self) -> None: ...
    def release(self) -> None: ...
    def close(self) -> None: ...


class Part:
    """One waiter's part in a turn."""

    def __init__(self, lock: Lock, start: int, end: int):
        self.lock, self.start, self.end = lock, start, end
        self.times: list[int] = []
        self.failed = 0
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        time.sleep(max(0, self.start - time.monotonic_ns()) / 1e9)
        while time.monotonic_ns() < self.end and self.failed < 1000:
            called = time.monotonic_ns()
            try:
                self.lock.acquire()
                acquired = time.monotonic_ns()
                self.lock.release()
            except Exception as trouble:  # any error of the recipe is counted and printed
                self.failed += 1
                print(f"{type(trouble).__name__}: {trouble}", file=sys.stderr)
                continue
            self.times += [at - self.start for at in (called, acquired, acquired)]


def play(line: str, make_lock: typing.Callable[[str], Lock]) -> dict:
    kind, resource, *numbers = line.split()
    first, waiters, start, end = map(int, numbers)
    names = [resource if kind == "shared" else f"{resource}/{first + i}" for i in range(waiters)]
    parts = [Part(make_lock(name), start, end) for name in names]
    for part in parts:
        part.thread.start()
    for part in parts:
        part.thread.join()
    for part in parts:
        part.lock.close()
    return {"grants": [part.times for part in parts], "failed": sum(part.failed for part in parts)}


def serve(make_lock: typing.Callable[[str], Lock]) -> None:
    for line in sys.stdin:
        print(json.dumps(play(line, make_lock)), flush=True)
