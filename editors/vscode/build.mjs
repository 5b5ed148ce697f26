// Builds what is packed: both editions, the grammar, the server as WebAssembly.
//
//   node build.mjs [--wasm FILE]     FILE: a module that is built already

import { execFileSync } from 'node:child_process';
import { cp, mkdir, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { build } from 'esbuild';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const { values } = parseArgs({ options: { wasm: { type: 'string' } } });

await mkdir(here('dist'), { recursive: true });
const shared = { bundle: true, format: 'cjs', external: ['vscode'], minify: true, target: 'es2023', logLevel: 'warning' };
await build({ ...shared, entryPoints: [here('src/desktop.mjs')], outfile: here('dist/desktop.cjs'), platform: 'node' });
await build({ ...shared, entryPoints: [here('src/browser.mjs')], outfile: here('dist/browser.cjs'), platform: 'browser' });
await cp(here('../qlio.tmLanguage.json'), here('dist/qlio.tmLanguage.json'));
await cp(here('../../LICENSE'), here('dist/LICENSE'));

let module = values.wasm;
if (!module) {
  const target = 'wasm32-unknown-unknown';
  execFileSync('cargo', ['build', '--release', '--locked', '--target', target], { cwd: here('server'), stdio: 'inherit' });
  const built = process.env.CARGO_TARGET_DIR ?? here('server/target');
  module = resolve(built, target, 'release/qlio_language_server.wasm');
}
if (resolve(module) !== here('dist/language.wasm')) await cp(module, here('dist/language.wasm'));
for (const file of ['desktop.cjs', 'browser.cjs', 'language.wasm']) {
  console.log(`${file}: ${Math.ceil((await stat(here(`dist/${file}`))).size / 1024)} KB`);
}
