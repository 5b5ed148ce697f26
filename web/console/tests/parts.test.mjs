// Small pure parts of the page, without a browser.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const sources = fileURLToPath(new URL("../src/", import.meta.url));

async function load(path) {
  const { outputFiles } = await build({
    entryPoints: [sources + path],
    bundle: true,
    write: false,
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

/** Numbers that are the same in every run. */
function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % below;
  };
}

function anyValue(next, depth) {
  const texts = ["", "a", 'quo"te', "back\\slash\\", "{[:,]}", "line\nbreak", "é😀", "\\\"", "\u2028"];
  const kind = next(depth > 0 ? 7 : 5);
  if (kind === 0) return texts[next(texts.length)];
  if (kind === 1) return next(1000) - 500;
  if (kind === 2) return next(2) === 0;
  if (kind === 3) return null;
  if (kind === 4) return next(100) / 8;
  if (kind === 5) return Array.from({ length: next(4) }, () => anyValue(next, depth - 1));
  return Object.fromEntries(Array.from({ length: next(4) }, (_, at) => [`${texts[next(texts.length)]}${at}`, anyValue(next, depth - 1)]));
}

test("JSON over several lines is the same JSON, and members are found in the text", async () => {
  const { indentJson, memberText } = await load("parts/json-text.ts");
  const next = numbers(7);
  for (let round = 0; round < 2_000; round += 1) {
    const value = anyValue(next, 4);
    for (const text of [JSON.stringify(value), JSON.stringify(value, null, 3)]) {
      assert.equal(indentJson(text), JSON.stringify(value, null, 2));
      const found = memberText(`{"before": ${text}, "body":${text}}`, "body");
      assert.deepEqual(JSON.parse(found), value);
    }
  }
  assert.equal(memberText("[1]", "a"), undefined);
  assert.equal(memberText('{"a":1', "b"), undefined);
  assert.equal(indentJson('{"a":12345678901234567890.5e3}'), '{\n  "a": 12345678901234567890.5e3\n}');
});

test("text that is no JSON ends as well", async () => {
  const { indentJson, memberText } = await load("parts/json-text.ts");
  const next = numbers(11);
  const letters = '{}[]",:\\ a1\n';
  for (let round = 0; round < 5_000; round += 1) {
    const text = Array.from({ length: next(30) }, () => letters[next(letters.length)]).join("");
    indentJson(text);
    memberText(text, "a");
  }
});

test("documents hold the lines of their texts, and say when they are cut", async () => {
  const { documentOf } = await load("result/document.ts");
  const { signal } = new AbortController();
  const make = (text, isJson = false) => documentOf(text, isJson, signal);
  const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at}`);
  for (const end of ["\n", "\r\n", "\r"]) {
    const { doc, isCut } = await make(lines.join(end) + end);
    assert.equal(doc.toString(), `${lines.join("\n")}\n`);
    assert.equal(isCut, false);
  }
  assert.equal((await make("")).doc.toString(), "");
  const value = lines.map((text, id) => ({ id, text, none: [] }));
  assert.equal((await make(JSON.stringify(value), true)).doc.toString(), JSON.stringify(value, null, 2));
  const whole = await make("x".repeat(20_000_000));
  assert.deepEqual([whole.doc.length, whole.isCut], [20_000_000, false]);
  for (const text of ["x".repeat(20_000_001), `${"x".repeat(19_999_999)}\n\ny`]) {
    const { doc, isCut } = await make(text);
    assert.ok(doc.length <= 20_000_000, `${doc.length} characters`);
    assert.equal(isCut, true);
  }
  const end = new AbortController();
  const given = documentOf("\n".repeat(5_000_000), false, end.signal);
  end.abort();
  assert.equal(await given, undefined);
});

test("matches are found wherever they stand, in any letter case, and in both directions", async () => {
  const [{ nextMatch, search }, { documentOf }] = await Promise.all([load("result/matches.ts"), load("result/document.ts")]);
  const { signal } = new AbortController();
  const next = numbers(5);
  // Some stand on the borders of the stretches that are searched.
  const places = [0, 262_144 - 3, 524_288, 786_432 - 1, 800_000];
  let text = Array.from({ length: 800_005 }, () => "ab \n"[next(4)]).join("");
  for (const at of places) text = `${text.slice(0, at)}NeEd?${text.slice(at + 5)}`;
  const { doc } = await documentOf(text, false, signal);
  const found = [];
  await search(doc, "need?", { from: 0, to: doc.length }, ({ from }) => found.push(from), signal);
  assert.deepEqual(found, places);
  const walk = async (isBackward) => {
    const seen = [];
    let at = { from: 0, to: 0 };
    for (let round = 0; round <= places.length; round += 1) {
      at = await nextMatch(doc, "NEED?", at, isBackward, signal);
      seen.push(at.from);
    }
    return seen;
  };
  assert.deepEqual(await walk(false), [...places, places[0]]);
  assert.deepEqual(await walk(true), [...places.toReversed(), places.at(-1)]);
  assert.equal(await nextMatch(doc, "nobody", { from: 3, to: 3 }, false, signal), undefined);
});

test("rows have columns, an order and a text", async () => {
  const { cellText, csvOf, sorted, tableOf } = await load("result/rows.ts");
  const { rows, columns } = tableOf(JSON.parse('[{"a":3},{"a":null},{"a":1,"b":{"c":[1]}}]'));
  assert.deepEqual(columns, ["a", "b"]);
  assert.deepEqual(sorted(rows, "a", false).map(({ a }) => a), [1, 3, null]);
  assert.deepEqual(sorted(rows, "a", true).map(({ a }) => a), [3, 1, null]);
  assert.equal(cellText({ c: [1] }), '{"c":[1]}');
  assert.equal(csvOf([{ a: "=1+1", b: 'say "x"' }], ["a", "b"]), "a,b\r\n'=1+1,\"say \"\"x\"\"\"\r\n");
  assert.equal(tableOf([]), undefined);
  assert.equal(tableOf([1, { a: 1 }]), undefined);
});

test("keywords are those of the parser", async () => {
  const { KEYWORDS } = await load("editor/words.ts");
  const grammar = JSON.parse(await readFile(new URL("../../../editors/qlio.tmLanguage.json", import.meta.url), "utf8"));
  const { match } = grammar.patterns.find(({ name }) => name === "keyword.control.qlio");
  const [, words] = /\(\?:([\w|]+)\)\(\?!/.exec(match);
  assert.deepEqual([...KEYWORDS].sort(), words.split("|").sort());
});

test("the critical path and the slack are those of `qlio plan --trace`", async () => {
  const { latencyOf } = await load("plan/latency.ts");
  const plan = {
    nodes: ["n1", "n2", "n3", "n4", "n5"].map((id) => ({ id })),
    edges: [
      { from: "n2", to: "n1", kind: "dep" },
      { from: "n3", to: "n1", kind: "dep" },
      { from: "n4", to: "n2", kind: "dep" },
      { from: "n4", to: "n3", kind: "dep" },
      { from: "n5", to: "n4", kind: "dep" },
    ],
  };
  const times = { n1: 80, n2: 95, n3: 120, n4: 12 };
  const run = { statements: new Map(Object.entries(times).map(([id, elapsed]) => [id, { elapsed }])) };
  const { total, criticalPath, nodes } = latencyOf(plan, run);
  assert.equal(total, 212);
  assert.deepEqual(criticalPath, ["n1", "n3", "n4"]);
  assert.equal(nodes.get("n2").slack, 25);
  assert.equal(nodes.get("n3").slack, 0);
});
