// The same route inside of this program and over HTTP, one after the other: calls per second, with as many at once as
// `CALLS_AT_ONCE` says (32), for `SECONDS_EACH` (5).
//
//   QLIO=/path/of/qlio node bench/beside-http.mjs
//
// The upstream is this program, too, so what is compared is the way to the engine and back, not the engine.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';

import { makeApp, startUpstream } from '../test/upstream.mjs';

const { Engine } = await import(process.env.ENGINE_PACKAGE ?? '../index.js');

const atOnce = Number(process.env.CALLS_AT_ONCE ?? 32);
const seconds = Number(process.env.SECONDS_EACH ?? 5);

/** Calls per second. */
async function measure(call) {
  const end = performance.now() + seconds * 1000;
  let calls = 0;
  const client = async () => {
    while (performance.now() < end) {
      await call();
      calls += 1;
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: atOnce }, client));
  return Math.round((calls * 1000) / (performance.now() - began));
}

const upstream = await startUpstream();
const shop = makeApp();
const engine = await Engine.open({ app: shop.app, config: { shop: upstream.base }, threads: 1 });

const settings = path.join(shop.folder, 'settings.json');
writeFileSync(settings, JSON.stringify({ shop: upstream.base }));
const server = spawn(
  process.env.QLIO ?? 'qlio',
  ['serve', '--app', shop.app, '--config', settings, '--port', '0', '--workers', '1'],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
const [address] = await once(createInterface(server.stdout), 'line');
const agent = new Agent({ keepAlive: true, maxSockets: atOnce });

const overHttp = (target) =>
  new Promise((resolve, reject) => {
    get(`${address}${target}`, { agent }, (response) => {
      const pieces = [];
      response.on('data', (piece) => pieces.push(piece));
      response.on('end', () => resolve(JSON.parse(Buffer.concat(pieces).toString('utf8'))));
    }).on('error', reject);
  });

const script = "return select title as title, price as price from product where id = '{id}'";
const ways = {
  'route over HTTP': () => overHttp('/products/7'),
  'route inside': async () => (await engine.call('/products/7')).json(),
  'script inside': () => engine.exec(script, { request: { params: { id: '7' } } }),
  'script inside, no upstream': () => engine.exec('return {"n": "{n}"}', { context: { n: 7 } }),
};
try {
  for (const call of Object.values(ways)) await call();
  for (const [name, call] of Object.entries(ways)) {
    console.log(`${name.padEnd(28)} ${String(await measure(call)).padStart(8)} /s`);
  }
} finally {
  server.kill('SIGTERM');
  agent.destroy();
  await engine.close();
  upstream.close();
  shop.remove();
}
