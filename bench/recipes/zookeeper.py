"""usage: zookeeper.py HOST:PORT, the worker of bench/peers for ZooKeeper.

The recipe is Lock of kazoo (Debian: python3-kazoo), which is ZooKeeper's own: a sequential node for
each waiter, which watches the one before it. All waiters of this process share one session.
"""

import logging
import sys

from kazoo.client import KazooClient

import turns


class Lock:
    def __init__(self, client: KazooClient, resource: str):
        self.lock = client.Lock("/" + resource)

    def acquire(self) -> None:
        self.lock.acquire()

    def release(self) -> None:
        self.lock.release()

    def close(self) -> None:
        pass


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)
    session = KazooClient(hosts=sys.argv[1])
    session.start(timeout=20)
    turns.serve(lambda resource: Lock(session, resource))
    session.stop()
