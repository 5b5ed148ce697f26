// The TextMate grammar as editors read it.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import oniguruma from 'vscode-oniguruma';
import textmate from 'vscode-textmate';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const require = createRequire(import.meta.url);

async function grammar() {
  await oniguruma.loadWASM(await readFile(require.resolve('vscode-oniguruma/release/onig.wasm')));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(
      await readFile(here('../../qlio.tmLanguage.json'), 'utf8'), 'qlio.tmLanguage.json'),
  });
  return registry.loadGrammar('source.qlio');
}

const loaded = await grammar();

/** The innermost scope of each stretch of a text; what lies side by side is one. */
function scopes(text) {
  let stack = textmate.INITIAL;
  const found = [];
  for (const line of text.split('\n')) {
    const { tokens, ruleStack } = loaded.tokenizeLine(line, stack);
    stack = ruleStack;
    let last;
    for (const { startIndex, endIndex, scopes } of tokens) {
      const [part, scope] = [line.slice(startIndex, endIndex), scopes.at(-1)];
      if (last?.[1] === scope) last[0] += part;
      else found.push(last = [part, scope]);
    }
  }
  return found.map(([part, scope]) => [part.trim(), scope]);
}

test('words, texts, tokens, numbers and comments have their colours', () => {
  assert.deepEqual(scopes(`-- all of them
x = select a.b as c, count(*) from lib.t where d >= 1.5 and e = "x{^f}y" limit {=n} /* to
here */ return null`).filter(([, scope]) => scope !== 'source.qlio'), [
    ['-- all of them', 'comment.line.double-dash.qlio'],
    ['x', 'variable.other.readwrite.qlio'],
    ['select', 'keyword.control.qlio'],
    ['as', 'keyword.control.qlio'],
    ['count', 'entity.name.function.qlio'],
    ['from', 'keyword.control.qlio'],
    ['where', 'keyword.control.qlio'],
    ['1.5', 'constant.numeric.qlio'],
    ['and', 'keyword.control.qlio'],
    ['e', 'variable.other.readwrite.qlio'],
    ['"x', 'string.quoted.double.qlio'],
    ['{^f}', 'variable.other.readwrite.qlio'],
    ['y"', 'string.quoted.double.qlio'],
    ['limit', 'keyword.control.qlio'],
    ['{=n}', 'variable.other.readwrite.qlio'],
    ['/* to', 'comment.block.qlio'],
    ['here */', 'comment.block.qlio'],
    ['return', 'keyword.control.qlio'],
    ['null', 'constant.language.qlio'],
  ]);
});

async function scriptsBelow(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith('.ql'))
    .map((entry) => join(entry.parentPath, entry.name));
}

test('no script of the examples leaves a text or a comment open', async () => {
  const files = await scriptsBelow(here('../../../examples'));
  assert.ok(files.length > 20, `${files.length} scripts`);
  for (const file of files) {
    let stack = textmate.INITIAL;
    for (const line of (await readFile(file, 'utf8')).split('\n')) {
      stack = loaded.tokenizeLine(line, stack).ruleStack;
    }
    assert.equal(stack.depth, 1, file);
  }
});

test('a long line takes time in proportion to its length', () => {
  const time = (length) => {
    const line = `x = '${'{'.repeat(length)}'`;
    const start = performance.now();
    loaded.tokenizeLine(line, textmate.INITIAL, 0);
    return performance.now() - start;
  };
  time(1000);
  assert.ok(time(16_000) < 20 * time(4_000) + 200);
});
