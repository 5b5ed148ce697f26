// The package as programs see it. `@qlio/engine` is the installed one, where there is one, else the folder above.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { makeApp, startUpstream } from './upstream.mjs';

const { Engine, QlioError } = await import(process.env.ENGINE_PACKAGE ?? '../index.js');

let upstream;
let shop;
let engine;

before(async () => {
  upstream = await startUpstream();
  shop = makeApp();
  engine = await Engine.open({ app: shop.app, config: { shop: upstream.base }, threads: 2 });
});

after(async () => {
  await engine?.close();
  upstream.close();
  shop.remove();
});

const until = async (condition) => {
  const end = Date.now() + 60_000;
  while (!condition()) {
    assert.ok(Date.now() < end, 'it does not happen');
    await new Promise((done) => setTimeout(done, 5));
  }
};

const slow = (more) => engine.exec("return select * from product where id = 'slow'", more);

test('an app has tables and routes', () => {
  assert.deepEqual([engine.tables, engine.routes, engine.warnings], [1, 1, []]);
  assert.match(engine.fingerprint, /^[0-9a-f]{16,}$/);
});

test('a script answers with JSON', async () => {
  const script = `row = select title as title from product where id = '{id}'
    return {"row": "{row}", "own": "{own}"}`;
  const answer = await engine.exec(script, { request: { params: { id: 7 } }, context: { own: [1, 'ä'] } });
  assert.deepEqual(answer.body, { row: [{ title: 'Mira lantern' }], own: [1, 'ä'] });
  assert.deepEqual(answer.warnings, []);
});

test('a route answers with bytes', async () => {
  const answer = await engine.call('/products/7');
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['content-type'], 'application/json');
  assert.deepEqual(answer.json(), [{ title: 'Mira lantern', price: 42 }]);
  assert.equal((await engine.call({ path: '/nowhere' })).status, 404);
});

test('a failure says what and where', async () => {
  const compile = await engine.exec('return select a form b').catch((error) => error);
  assert.ok(compile instanceof QlioError);
  assert.deepEqual([compile.kind, compile.status, compile.body.line], ['compile', 400, 1]);
  const refused = "create table t on select get from 'http://127.0.0.1:9/'; return select * from t";
  const run = await engine.exec(refused).catch((error) => error);
  assert.deepEqual([run.kind, run.status, run.code], ['run', 502, 'Q5002']);
  assert.throws(() => engine.exec({ script: 'return 1', scripts: 2 }), /exec has no member `scripts`/);
  assert.throws(() => new Engine({ app: '/no/such' }), /there is no folder/);
});

test('a signal, a cancel and a timeout hang up', async () => {
  const hungUp = upstream.state.hungUp;
  const controller = new AbortController();
  const aborted = slow({ signal: controller.signal });
  await until(() => upstream.state.asked > hungUp);
  controller.abort();
  await assert.rejects(aborted, { name: 'AbortError' });
  const cancelled = slow();
  cancelled.cancel();
  await assert.rejects(cancelled, { kind: 'cancelled' });
  await assert.rejects(slow({ timeoutMs: 20 }), { kind: 'timed-out', status: 504 });
  await until(() => upstream.state.hungUp > hungUp);
  assert.throws(() => slow({ signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('events come while a script runs, and end', async () => {
  const script = "row = select price as price from product where id = 7\nreturn row";
  const run = engine.exec(script, { events: ['ack', 'statement-response', 'row', 'script-done'] });
  const events = [];
  for await (const event of run.events) events.push(event);
  assert.deepEqual(
    events.map((event) => event.name),
    ['ack', 'statement-response', 'row', 'script-done'],
  );
  assert.equal(events[1].data.status, 200);
  assert.deepEqual(events[2].data, [{ price: 42 }]);
  assert.deepEqual((await run).body, [{ price: 42 }]);
});

test('the event loop turns while scripts run', async () => {
  let turns = 0;
  const turning = setInterval(() => (turns += 1), 1);
  const rows = Array.from({ length: 20_000 }, (_, a) => ({ a }));
  await Promise.all(
    Array.from({ length: 4 }, () => engine.exec('return select a as a from rows where a >= 0', { context: { rows } })),
  );
  clearInterval(turning);
  assert.ok(turns > 0, 'no timer has fired meanwhile');
});

test('a closed engine refuses, and a busy one, too', async () => {
  const small = await Engine.open({ app: shop.app, config: { shop: upstream.base }, threads: 1, maxRuns: 1 });
  const asked = upstream.state.asked;
  const first = small.exec("return select * from product where id = 'slow'");
  await until(() => upstream.state.asked > asked);
  await assert.rejects(small.exec('return 1'), { kind: 'busy' });
  const ended = assert.rejects(first, { kind: 'closed' });
  await small.close({ graceMs: 0 });
  await ended;
  await assert.rejects(small.exec('return 1'), { kind: 'closed' });
});

test('memory stays where it is', async () => {
  const runs = Number(process.env.RUNS ?? 3000);
  const some = async (count) => {
    for (let at = 0; at < count; at += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, n) => engine.exec('return {"n": "{n}"}', { context: { n } })));
    }
  };
  const megabytes = () => {
    globalThis.gc?.();
    return process.memoryUsage().rss / 2 ** 20;
  };
  await some(runs);
  const before = megabytes();
  await some(runs);
  const after = megabytes();
  console.log(`# ${2 * runs} runs: ${before.toFixed(1)} MiB at half, ${after.toFixed(1)} MiB at the end`);
  assert.ok(after < before * 1.15 + 16, `${before} MiB became ${after} MiB`);
});
