"""usage: etcd.py HOST:PORT, the worker of bench/peers for etcd.

The recipe is etcd's own, its Lock service: concurrency.Mutex of the Go client, run by the server
that is asked. (Lock of python3-etcd3 is another one: it reads the key and then watches it, so a
release between the two wakes no waiter.) Each waiter has a lease, which is its session.
"""

import sys

import grpc

import turns

SECONDS_OF_LEASE = 60


def number(value: int) -> bytes:
    """Encodes a number as protobuf does."""
    parts = []
    while value > 0x7f:
        parts.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes([*parts, value])


def field(index: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return number(index << 3) + number(value)
    return number(index << 3 | 2) + number(len(value)) + value


def read_number(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        part = message[at]
        at += 1
        value |= (part & 0x7f) << shift
        shift += 7
        if part < 0x80:
            return value, at


def fields(message: bytes) -> dict[int, int | bytes]:
    """Decodes the fields of a message that has only numbers and bytes."""
    found: dict[int, int | bytes] = {}
    at = 0
    while at < len(message):
        key, at = read_number(message, at)
        value, at = read_number(message, at)
        if key & 7 == 2:
            found[key >> 3], at = message[at:at + value], at + value
        else:
            found[key >> 3] = value
    return found


class Etcd:
    def __init__(self, endpoint: str):
        channel = grpc.insecure_channel(endpoint)
        self.grant = channel.unary_unary("/etcdserverpb.Lease/LeaseGrant")
        self.revoke = channel.unary_unary("/etcdserverpb.Lease/LeaseRevoke")
        self.lock = channel.unary_unary("/v3lockpb.Lock/Lock")
        self.unlock = channel.unary_unary("/v3lockpb.Lock/Unlock")


class Lock:
    def __init__(self, etcd: Etcd, resource: str):
        self.etcd = etcd
        self.lease = fields(etcd.grant(field(1, SECONDS_OF_LEASE)))[2]
        self.request = field(1, resource.encode()) + field(2, self.lease)
        self.key = b""

    def acquire(self) -> None:
        self.key = fields(self.etcd.lock(self.request))[2]

    def release(self) -> None:
        self.etcd.unlock(field(1, self.key))

    def close(self) -> None:
        self.etcd.revoke(field(1, self.lease))


if __name__ == "__main__":
    server = Etcd(sys.argv[1])
    turns.serve(lambda resource: Lock(server, resource))
