// usage: NODE_PATH=DIR/node_modules node redlock.js MODULE PORT,PORT,... [--pipelining], the worker
// of bench/peers for node-redlock, with its defaults, on ioredis. turns.py says what a turn is.
"use strict";

const readline = require("readline");
const Redis = require("ioredis");

const [modulePath, ports] = process.argv.slice(2);
const redlockModule = require(modulePath);
// Version 5, the fork, version 4.
const Redlock = redlockModule.default || redlockModule.Redlock || redlockModule;
const ttl = 10000;
const enableAutoPipelining = process.argv.includes("--pipelining");
const clients = ports
  .split(",")
  .map((port) => new Redis({ host: "127.0.0.1", port: Number(port), enableAutoPipelining }));
const redlock = new Redlock(clients);

const now = () => Number(process.hrtime.bigint()); // CLOCK_MONOTONIC; exact for 100 days

async function wait(resource, start, end) {
  const part = { times: [], failed: 0 };
  while (now() < end) {
    const called = now();
    let lock;
    try {
      lock = await redlock.acquire([resource], ttl);
    } catch {
      part.failed += 1; // its retries have run out
      continue;
    }
    const acquired = now();
    part.times.push(called - start, acquired - start, acquired - start);
    try {
      await (lock.release || lock.unlock).call(lock);
    } catch {
      part.failed += 1;
    }
  }
  return part;
}

async function play(line) {
  const [kind, resource, ...numbers] = line.split(" ");
  const [first, waiters, start, end] = numbers.map(Number);
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, (start - now()) / 1e6)));
  const parts = [];
  for (let i = 0; i < waiters; ++i) {
    parts.push(wait(kind === "shared" ? resource : `${resource}/${first + i}`, start, end));
  }
  const played = await Promise.all(parts);
  const failed = played.reduce((sum, part) => sum + part.failed, 0);
  console.log(JSON.stringify({ grants: played.map((part) => part.times), failed }));
}

readline
  .createInterface({ input: process.stdin })
  .on("line", play)
  .on("close", () => process.exit(0));
