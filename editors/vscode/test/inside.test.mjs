// The server as it is packed, spoken to as the client library does, with the example app.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

import { createMessageConnection } from 'vscode-jsonrpc/node';

import { Conversation, Inside } from '../src/inside.mjs';
import { asJson } from '../src/settings.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const wasm = await readFile(here('../dist/language.wasm'));
const shop = here('../../../examples/shop');

async function filesBelow(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** A client of a server that has the files of an app, by their URIs. */
async function open(files, rootUri) {
  const server = await Inside.load(wasm);
  for (const [uri, bytes] of files) assert.ok(server.put(uri, bytes));
  const conversation = new Conversation(server);
  const client = createMessageConnection(conversation.reader, conversation.writer);
  const problems = new Map();
  let told = () => {};
  client.onNotification('textDocument/publishDiagnostics', ({ uri, diagnostics }) => {
    problems.set(uri, diagnostics);
    told();
  });
  client.listen();
  const hello = await client.sendRequest('initialize', { capabilities: {}, rootUri, processId: null });
  await client.sendNotification('initialized', {});
  const write = (uri, text) => client.sendNotification('textDocument/didOpen', {
    textDocument: { uri, languageId: 'qlio', version: 1, text },
  });
  /** Resolves when the problems of a document are such. */
  const problemsOf = async (uri, are) => {
    const deadline = AbortSignal.timeout(20_000);
    while (!problems.has(uri) || !are(problems.get(uri))) {
      await new Promise((resolve, reject) => {
        told = resolve;
        deadline.onabort = () => reject(new Error(`still ${JSON.stringify(problems.get(uri))}`));
      });
    }
    return problems.get(uri);
  };
  return { server, conversation, client, hello, write, problemsOf };
}

async function openShop() {
  const paths = (await filesBelow(shop)).filter((path) => !path.includes('/apis/'));
  const files = await Promise.all(paths.map(async (path) => [pathToFileURL(path).href, await readFile(path)]));
  return open(files, pathToFileURL(shop).href);
}

test('it knows the tables of the app', async () => {
  const { client, write, problemsOf } = await openShop();
  const uri = pathToFileURL(join(shop, 'routes/new.ql')).href;
  const text = 'return select title from shop.search where ';
  await write(uri, text);
  const at = { textDocument: { uri }, position: { line: 0, character: text.length } };
  const found = await client.sendRequest('textDocument/completion', at);
  const labels = (found.items ?? found).map(({ label }) => label);
  assert.ok(labels.includes('keyword'), labels.join());
  const hover = await client.sendRequest('textDocument/hover', {
    textDocument: { uri }, position: { line: 0, character: text.indexOf('search') },
  });
  assert.match(JSON.stringify(hover), /Finds products by a/);
  const [problem] = await problemsOf(uri, (all) => all.length > 0);
  assert.match(problem.code, /^Q1001/);
});

test('the routes of the example have no problems, and plans', async () => {
  const { client, write, problemsOf } = await openShop();
  for (const path of await filesBelow(join(shop, 'routes'))) {
    const uri = pathToFileURL(path).href;
    await write(uri, await readFile(path, 'utf8'));
    assert.deepEqual(await problemsOf(uri, () => true), [], path);
    const plan = await client.sendRequest('workspace/executeCommand', { command: 'qlio.plan', arguments: [uri] });
    assert.match(plan, /shop\./, path);
  }
});

test('files that change and go are followed', async () => {
  const root = 'vscode-vfs://github/somebody/app';
  const table = new TextEncoder().encode('create table tides on select get from "{config.api}/tides?port={^port}"');
  const settings = asJson(`${root}/qlio.yaml`, new TextEncoder().encode('api: "http://h.test"'));
  const { server, conversation, write, problemsOf } = await open([[`${root}/tables/tides.ql`, table], settings], root);
  const uri = `${root}/routes/tides.ql`;
  await write(uri, 'return select * from tides where port = "{p}" via route "/tides?p={p}" using method get');
  assert.deepEqual(await problemsOf(uri, () => true), []);
  server.remove(`${root}/tables`);
  const changed = { jsonrpc: '2.0', method: 'workspace/didChangeWatchedFiles', params: { changes: [] } };
  await conversation.writer.write(changed);
  const [problem] = await problemsOf(uri, (all) => all.length > 0);
  assert.match(problem.code, /^Q2003/);
});

test('settings of all formats become JSON, others stay', () => {
  const bytes = (text) => new TextEncoder().encode(text);
  const read = (name, text) => {
    const [uri, out] = asJson(`file:///a/${name}`, bytes(text));
    return [uri, new TextDecoder().decode(out)];
  };
  assert.deepEqual(read('qlio.toml', '[shop]\napi = "x"'), ['file:///a/qlio.json', '{"shop":{"api":"x"}}']);
  assert.deepEqual(read('qlio.yaml', 'shop: {api: x}'), ['file:///a/qlio.json', '{"shop":{"api":"x"}}']);
  assert.deepEqual(read('qlio.yaml', 'shop: {'), ['file:///a/qlio.yaml', 'shop: {']);
  assert.deepEqual(read('qlio.json', '{'), ['file:///a/qlio.json', '{']);
});

test('nothing that is sent stops it', async () => {
  const server = await Inside.load(wasm);
  for (const message of [null, 7, [], {}, { jsonrpc: '2.0', id: 1, method: 'x' }, { id: 2, method: 'initialize' }]) {
    assert.ok(Array.isArray(server.handle(message)));
  }
  const text = `return ${'('.repeat(100_000)}`;
  server.handle({ jsonrpc: '2.0', method: 'textDocument/didOpen', params: { textDocument: { uri: 'untitled:1', languageId: 'qlio', version: 1, text } } });
  assert.ok(server.settle().length > 0);
  assert.equal(server.put('file:///big', new Uint8Array((64 << 20) + 1)), false);
});

test('it is small, packed as it is downloaded', async () => {
  const size = gzipSync(await readFile(here('../dist/language.wasm'))).length;
  assert.ok(size < 1_300_000, `${size} bytes`);
});
