// Real node-redlock over real ioredis, which tests/peers/redlock_test.cpp lets contend with ours.
//
//   node redlock.cjs MODULES URL,URL,... MODE RESOURCE [FILE COUNT]
//
// MODULES is where npm has installed both. MODE is
//   try    one attempt: prints "granted TOKEN", and releases on SIGTERM; or "refused"
//   count  COUNT times under the lock: adds one to the number in FILE
const { createRequire } = require('node:module');
const fs = require('node:fs');
const path = require('node:path');

const [modules, urls, mode, resource, file, count] = process.argv.slice(2);
const load = createRequire(path.join(modules, 'peer.cjs'));
const Redis = load('ioredis');
const { default: Redlock } = load('redlock');

const nodes = urls.split(',').map((url) => new Redis(url.replace('unix://', '')));
const redlock = new Redlock(nodes, {
  retryCount: mode === 'try' ? 0 : -1,
  retryDelay: 10,
  retryJitter: 10,
});
redlock.on('error', () => {});  // one of each node that refuses

function asked_to_end() {
  const alive = setInterval(() => {}, 1000);
  return new Promise((resolve) => process.on('SIGTERM', resolve)).then(() => clearInterval(alive));
}

// Not atomic on purpose: two at a time would lose a count, and find the other's mark.
async function add_one() {
  const mark = file + '.mark';
  fs.closeSync(fs.openSync(mark, 'wx'));
  const number = Number(fs.readFileSync(file, 'utf8'));
  await new Promise((resolve) => setImmediate(resolve));
  fs.writeFileSync(file, String(number + 1));
  fs.unlinkSync(mark);
}

async function main() {
  if (mode === 'try') {
    let lock;
    try {
      lock = await redlock.acquire([resource], 20000);
    } catch (error) {
      if (error.name !== 'ExecutionError') throw error;
      console.log('refused');
      return;
    }
    const asked = asked_to_end();
    console.log('granted ' + lock.value);
    await asked;
    lock = await lock.extend(20000);
    await lock.release();
    return;
  }
  for (let i = 0; i < Number(count); ++i) {
    const lock = await redlock.acquire([resource], 20000);
    await add_one();
    await lock.release();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

main().then(
  () => nodes.forEach((node) => node.disconnect()),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
