// The examples of README.md, run in their order as one program.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { makeApp, startUpstream } from './upstream.mjs';

test('the examples of README.md run', async () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const blocks = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map((found) => found[1]);
  assert.ok(blocks.length >= 3, 'there are examples');
  // The program is written elsewhere, where no package is installed.
  const entry = import.meta.resolve(process.env.ENGINE_PACKAGE ?? '../index.js');
  const upstream = await startUpstream();
  const shop = makeApp();
  try {
    const program = path.join(shop.folder, 'example.mjs');
    writeFileSync(program, blocks.join('\n').replace("'@qlio/engine'", JSON.stringify(entry)));
    const child = spawn(process.execPath, [program], {
      cwd: shop.folder,
      env: { ...process.env, SHOP: upstream.base },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'close');
    let printed = '';
    child.stdout.on('data', (bytes) => (printed += bytes));
    const [code] = await ended;
    assert.equal(code, 0);
    assert.deepEqual(printed.trim().split('\n'), [
      'Mira lantern',
      '200 42',
      'statement-response 200',
      'TimeoutError',
      'compile Q1001 1',
    ]);
  } finally {
    upstream.close();
    shop.remove();
  }
});
