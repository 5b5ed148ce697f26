// Where the executable is found, and what a run gives; with programs that are really started.

import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import test from 'node:test';

import { locate, runScript } from '../src/executable.mjs';

async function program(t, text) {
  const folder = await mkdtemp(join(tmpdir(), 'qlio-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'qlio');
  await writeFile(path, `#!/bin/sh\n${text}\n`);
  await chmod(path, 0o755);
  return { folder, path };
}

test('the settings come first, then the PATH, and never a relative folder of it', async (t) => {
  const { folder, path } = await program(t, 'exit 0');
  assert.equal(await locate(path, { PATH: '' }), path);
  assert.equal(await locate('', { PATH: ['/nowhere', folder].join(delimiter) }), path);
  assert.equal(await locate('', { PATH: '.' }), undefined);
  await assert.rejects(locate('qlio', {}), /no absolute path/);
  await assert.rejects(locate(join(folder, 'other'), {}), /no program/);
});

test('a run gives what was printed, and how it ended', async (t) => {
  const { path } = await program(t, 'echo "$@"; echo told >&2; exit 3');
  const { text, note } = await runScript(path, '/a.ql', '/app', new AbortController().signal);
  assert.equal(text, 'run --app /app /a.ql\n\ntold\n');
  assert.match(note, /^failed with exit code 3 in \d+ ms$/);
});

test('a run can be stopped', async (t) => {
  const { path } = await program(t, 'exec sleep 60');
  const stop = new AbortController();
  const run = runScript(path, '/a.ql', undefined, stop.signal);
  stop.abort();
  assert.deepEqual(await run, { text: '', note: 'stopped' });
});

test('a program that is not there is an error', async () => {
  await assert.rejects(runScript('/nowhere/qlio', '/a.ql', undefined, new AbortController().signal), /ENOENT/);
});

const executable = process.env.QLIO_EXECUTABLE;
test('the real executable runs a script', { skip: !executable && 'QLIO_EXECUTABLE names none' }, async (t) => {
  const { folder } = await program(t, 'exit 0');
  const script = join(folder, 'a.ql');
  await writeFile(script, 'return {"a": 1}');
  const { text, note } = await runScript(executable, script, undefined, new AbortController().signal);
  assert.deepEqual(JSON.parse(text), { a: 1 });
  assert.match(note, /^done/);
});
