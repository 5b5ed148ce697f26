// The packed extension in VS Code's own workbench and extension host, in Chromium, with the example app.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { access, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { build } from 'esbuild';
import { chromium } from 'playwright-core';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const isThere = await access(executablePath).then(() => true, () => false);

/** Milliseconds for anything that is waited for; machines are loaded. */
const PATIENCE = 180_000;

const TYPES = { css: 'text/css', html: 'text/html', js: 'text/javascript', cjs: 'text/javascript', wasm: 'application/wasm' };

async function bundle() {
  const loader = Object.fromEntries(['.mp3', '.png', '.svg', '.ttf', '.wasm', '.woff'].map((ending) => [ending, 'file']));
  await build({
    bundle: true,
    external: ['node:*'],
    format: 'esm',
    loader,
    logLevel: 'error',
    outdir: here('out'),
    target: 'es2022',
    entryPoints: {
      page: here('page.mjs'),
      'editor.worker': '@codingame/monaco-vscode-api/workers/editor.worker',
      'textmate.worker': '@codingame/monaco-vscode-textmate-service-override/worker',
    },
  });
}

/** The example app as the workspace, with a route that has a mistake. */
async function app() {
  const shop = here('../../../examples/shop');
  const files = { '/workspace/routes/broken.ql': 'return select title frm shop.search' };
  for (const entry of await readdir(shop, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !path.includes('/apis/')) files[`/workspace${path.slice(shop.length)}`] = await readFile(path, 'utf8');
  }
  return files;
}

const PAGE = `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><link rel="stylesheet" href="/page.css">
<style>html, body { height: 100%; margin: 0 }</style></head>
<body><script type="module" src="/page.js"></script></body></html>`;

async function serve(files) {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, 'http://h').pathname;
    try {
      const body = path === '/' ? PAGE
        : path === '/app.json' ? JSON.stringify(files)
        : await readFile(path.startsWith('/extension/') ? here(`..${path.slice(10)}`) : here(`out${path}`));
      const ending = path === '/' ? 'html' : path.split('.').at(-1);
      response.writeHead(200, { 'content-type': TYPES[ending] ?? 'application/octet-stream' }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

test('VS Code edits the example app', { skip: !isThere && 'there is no Chromium', timeout: 3 * PATIENCE }, async (t) => {
  await bundle();
  const server = await serve(await app());
  t.after(() => server.close());
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
    '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  const browser = await chromium.launch({ executablePath, args: flags });
  t.after(() => browser.close());
  const page = await browser.newPage();
  const foreign = [];
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol.startsWith('http') && hostname !== '127.0.0.1') foreign.push(request.url());
  });
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction(() => window.vscode, null, { timeout: PATIENCE });

  const seen = await page.evaluate(async (patience) => {
    const { Position, Range, Uri, commands, extensions, languages, window, workspace } = globalThis.vscode;
    const until = async (find) => {
      for (const end = Date.now() + patience; Date.now() < end;) {
        const found = await find();
        if (found !== undefined) return found;
        await new Promise((then) => setTimeout(then, 100));
      }
      throw new Error(`waited in vain for ${find}`);
    };
    const some = (list) => (list?.length ? list : undefined);
    const open = async (path) => {
      const document = await workspace.openTextDocument(Uri.file(path));
      await window.showTextDocument(document);
      return document;
    };
    const broken = await open('/workspace/routes/broken.ql');
    const problems = await until(() => some(languages.getDiagnostics(broken.uri)));
    const document = await open('/workspace/routes/pages.ql');
    const at = document.positionAt(document.getText().indexOf('shop.search') + 6);
    const ask = (provider, ...more) => commands.executeCommand(`vscode.execute${provider}`, document.uri, ...more);
    const hover = await until(async () => some(await ask('HoverProvider', at)));
    const definition = await ask('DefinitionProvider', at);
    const lenses = await until(async () => some(await ask('CodeLensProvider')));
    const hints = await until(async () => some(await ask('InlayHintProvider', new Range(new Position(0, 0), new Position(99, 0)))));
    const edits = await ask('FormatDocumentProvider', { tabSize: 2, insertSpaces: true });
    await commands.executeCommand('qlio.planScript', document.uri);
    const tabs = await until(() => {
      const labels = window.tabGroups.all.flatMap((group) => group.tabs.map((tab) => tab.label));
      return labels.includes('Plan') ? labels : undefined;
    });
    return {
      language: document.languageId,
      who: (await extensions.getExtension('qlio.qlio').activate()).whoAnswers(),
      problems: problems.map((problem) => problem.message),
      hover: hover.flatMap((one) => one.contents.map((part) => part.value ?? part)).join('\n'),
      definition: definition.map((place) => (place.uri ?? place.targetUri).path),
      lenses: lenses.map((lens) => lens.command.title),
      hints: hints.map((hint) => (typeof hint.label === 'string' ? hint.label : hint.label.map((part) => part.value).join(''))),
      edits: edits?.length ?? 0,
      tabs,
    };
  }, PATIENCE);

  assert.equal(seen.language, 'qlio');
  assert.equal(seen.who, 'the server inside');
  assert.match(seen.problems.join(), /did you mean `from`/);
  assert.match(seen.hover, /Finds products by a/);
  assert.deepEqual(seen.definition, ['/workspace/tables/shop/search.ql']);
  assert.deepEqual(seen.lenses, ['Plan']);
  assert.match(seen.hints.join(), /call/);
  assert.equal(seen.edits, 0);
  assert.ok(seen.tabs.includes('Plan'), seen.tabs.join());
  assert.deepEqual(foreign, []);
});
