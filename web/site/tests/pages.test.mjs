// The built pages as files: links, names, what the policy forbids, and the examples that lead to the
// playground, asked as the playground does.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { join, posix } from "node:path";
import { test } from "node:test";
import { inflateRawSync } from "node:zlib";
import { Inside } from "../../../editors/vscode/src/inside.mjs";
import { findPages } from "../pages.mjs";
import { built } from "./built.mjs";

const names = (await readdir(built, { recursive: true })).map((name) => name.replaceAll("\\", "/"));
const pages = new Map();
for (const name of names.filter((one) => one.endsWith(".html"))) pages.set(name, await readFile(join(built, name), "utf8"));

/** The values of an attribute, with what entities stand for. */
function* values(html, attribute) {
  const entities = { "&amp;": "&", "&quot;": '"', "&lt;": "<", "&gt;": ">" };
  for (const [, value] of html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, "g"))) {
    yield value.replace(/&(amp|quot|lt|gt);/g, (entity) => entities[entity]);
  }
}

test("every text has its page, with a title and one heading above all others", () => {
  const found = [...findPages().pages.values()];
  assert.ok(found.length > 250, `only ${found.length} pages`);
  for (const { path, output } of found) assert.ok(pages.has(output), `${path} has no page`);
  for (const [name, html] of pages) {
    assert.ok(/<title>[^<]*qlio<\/title>/.test(html), name);
    assert.equal(html.match(/<h1[ >]/g)?.length ?? 0, name === "playground.html" ? 0 : 1, `headings of ${name}`);
  }
});

test("no link inside leads nowhere, neither to a page nor to a place in it", () => {
  const places = new Map([...pages].map(([name, html]) => [name, new Set(values(html, "id"))]));
  const dead = [];
  let count = 0;
  for (const [name, html] of pages) {
    for (const attribute of ["href", "src"]) {
      for (const link of values(html, attribute)) {
        if (/^(https?:|mailto:|data:)/.test(link)) continue;
        count += 1;
        const [path, place] = link.split("#");
        const target = path === "" ? name : posix.normalize(posix.join(posix.dirname(name), path));
        if (!existsSync(join(built, target))) dead.push(`${name}: ${link}`);
        else if (place && target.endsWith(".html") && target !== "playground.html" && !places.get(target)?.has(decodeURIComponent(place))) {
          dead.push(`${name}: ${link}, there is no such place`);
        }
      }
    }
  }
  assert.ok(count > 10_000, `only ${count} links`);
  assert.deepEqual(dead, []);
});

test("rules are places, and what cites one leads to it", () => {
  assert.match(pages.get("language/reference/select.html"), /<li id="SEL-4">/);
  assert.match(pages.get("guide/first-app.html"), /href="\.\.\/reference\/server\.html#SRV-61"/);
});

test("pages take nothing from elsewhere and have nothing inline", () => {
  for (const [name, html] of pages) {
    for (const source of values(html, "src")) assert.doesNotMatch(source, /^(https?:)?\/\//, name);
    for (const [tag] of html.matchAll(/<link [^>]*>/g)) assert.doesNotMatch(tag, /href="(https?:)?\/\//, name);
    assert.equal(/<style|\sstyle="|\son\w+="|<script(?![^>]*\ssrc=)/.exec(html)?.[0], undefined, name);
    assert.ok(/http-equiv="content-security-policy" content="default-src 'none'; script-src 'self' 'wasm-unsafe-eval'/.test(html), name);
  }
});

/** The problems of a file among others, as the playground hears of them. */
async function problemsOf(module, { files, shown }) {
  const service = new Inside(new WebAssembly.Instance(module, {}).exports);
  for (const [path, text] of Object.entries(files)) assert.ok(service.put(`file:///app/${path}`, new TextEncoder().encode(text)));
  service.handle({ jsonrpc: "2.0", id: 1, method: "initialize", params: { capabilities: {}, rootUri: "file:///app/", processId: null } });
  service.handle({ jsonrpc: "2.0", method: "initialized", params: {} });
  const uri = `file:///app/${shown}`;
  service.handle({ jsonrpc: "2.0", method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "qlio", version: 1, text: files[shown] } } });
  const told = service.settle().filter(({ method, params }) => method === "textDocument/publishDiagnostics" && params.uri === uri);
  return told.flatMap(({ params }) => params.diagnostics);
}

test("examples that work have no errors in the playground, and some that fail say why", async () => {
  const module = await WebAssembly.compile(await readFile(join(built, "assets/language.wasm")));
  const wrong = [];
  const codes = new Set();
  let count = 0;
  for (const [name, html] of pages) {
    for (const [, words, packed] of html.matchAll(/<figcaption[^>]*>([^<]*)<a class="play" href="[^"]*#x=([\w-]+)">/g)) {
      count += 1;
      const example = JSON.parse(inflateRawSync(Buffer.from(packed, "base64url")).toString());
      const problems = await problemsOf(module, example);
      for (const { code } of problems) codes.add(code.slice(0, 5));
      const errors = problems.filter(({ severity }) => severity === 1);
      if (!words.includes("fails with") && errors.length > 0) wrong.push(`${name}: ${errors[0].code} ${errors[0].message}`);
    }
  }
  assert.ok(count > 300, `only ${count} examples`);
  assert.ok(codes.size > 40, `only ${codes.size} codes`);
  assert.deepEqual(wrong, []);
});
