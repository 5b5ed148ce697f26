// One way of asking, from Node.js, for some seconds: `node host.mjs '{"way": …}'` in a folder that has @qlio/engine.
// Prints calls, seconds and processor time (its own, and that of the server, if one was asked) as JSON.

import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';

const asked = JSON.parse(process.argv[2]);
const ticks = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').pop().split(' ');
  return (Number(fields[11]) + Number(fields[12])) / asked.ticksPerSecond;
};

async function inside() {
  const { Engine } = await import('@qlio/engine');
  const engine = await Engine.open({ app: asked.app, config: { upstream: asked.upstream }, threads: 1 });
  const call = async () => (await engine.call(asked.path)).json();
  const exec = async () => (await engine.exec(asked.script, { request: asked.request })).body;
  return { ask: asked.way === 'call' ? call : exec, close: () => engine.close() };
}

function overHttp() {
  const agent = new Agent({ keepAlive: true, maxSockets: asked.atOnce });
  const url = `http://127.0.0.1:${asked.port}${asked.path}`;
  const ask = () =>
    new Promise((resolve, reject) => {
      get(url, { agent }, (response) => {
        const pieces = [];
        response.on('data', (piece) => pieces.push(piece));
        response.on('end', () => resolve(JSON.parse(Buffer.concat(pieces).toString('utf8'))));
        response.on('error', reject);
      }).on('error', reject);
    });
  return { ask, close: () => agent.destroy() };
}

/** Half of the runs, then the other half: does memory stay where it is? */
async function memory() {
  const { Engine } = await import('@qlio/engine');
  const engine = await Engine.open({ app: asked.app, config: { upstream: asked.upstream }, threads: 1 });
  const sizes = [];
  for (const _ of [1, 2]) {
    for (let at = 0; at < asked.runs / 2; at += asked.atOnce) {
      const run = (_, n) => engine.exec('return {"n": "{n}"}', { context: { n } });
      await Promise.all(Array.from({ length: asked.atOnce }, run));
    }
    globalThis.gc();
    sizes.push(process.memoryUsage().rss / 2 ** 20);
  }
  await engine.close();
  console.log(JSON.stringify(sizes));
}

if (asked.way === 'memory') {
  await memory();
  process.exit();
}

const { ask, close } = asked.way === 'http' ? overHttp() : await inside();
const answer = JSON.stringify(await ask());
if (answer !== asked.answer) throw new Error(`the answer is ${answer}`);

async function keepAsking(seconds) {
  const end = performance.now() + seconds * 1000;
  let calls = 0;
  const client = async () => {
    for (; performance.now() < end; calls += 1) await ask();
  };
  await Promise.all(Array.from({ length: asked.atOnce }, client));
  return calls;
}

await keepAsking(asked.warmUp);
const [own, server, began] = [process.cpuUsage(), ticks(asked.server), performance.now()];
const calls = await keepAsking(asked.seconds);
const { user, system } = process.cpuUsage(own);
const spent = asked.way === 'http' ? ticks(asked.server) - server : 0;
console.log(
  JSON.stringify({ calls, seconds: (performance.now() - began) / 1000, host: (user + system) / 1e6, server: spent }),
);
await close();
