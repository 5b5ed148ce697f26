// Runs the planner as WebAssembly in Node and compares what it answers with what it must.
//
//   node web/planner-check/check.mjs PATH_OF_WASM

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

const { instance } = await WebAssembly.instantiate(await readFile(process.argv[2]), {});
const planner = instance.exports;

// Calls an exported function with texts, then numbers, and reads the JSON that it answers.
function call(name, texts, ...numbers) {
  const passed = texts.map((text) => {
    const bytes = new TextEncoder().encode(text);
    const start = planner.alloc(bytes.length);
    new Uint8Array(planner.memory.buffer, start, bytes.length).set(bytes);
    return [start, bytes.length];
  });
  const answer = BigInt.asUintN(64, planner[name](...passed.flat(), ...numbers));
  const [start, length] = [Number(answer >> 32n), Number(answer & 0xffffffffn)];
  const text = new TextDecoder().decode(new Uint8Array(planner.memory.buffer, start, length));
  for (const [at, bytes] of [...passed, [start, length]]) planner.free(at, bytes);
  return JSON.parse(text);
}

const tables = `
-- All the boats
create table boats on select get from 'http://api.test/boats?dock={^dock}&n={n}'
create table docks on select get from 'http://api.test/docks/{id}' using format 'protobuf' message 'D' from 'd.proto'
`;

const script = `dock = select id from docks where id = "{é}"
found = select name from boats where dock in (select id from dock) || []
return {"boats": "{=found}"}`;

const plan = call('explain_json', [tables, script]);
assert.equal(plan.diagnostics, undefined, JSON.stringify(plan));
assert.equal(plan.version, 1);
assert.deepEqual(
  plan.nodes.map(({ line, kind, assign, tables }) => ({ line, kind, assign, tables })),
  [
    { line: 1, kind: 'select', assign: 'dock', tables: ['docks'] },
    { line: 2, kind: 'select', assign: 'found', tables: ['boats', '{dock}'] },
    { line: 2, kind: 'define', assign: 'found', tables: undefined },
    { line: 3, kind: 'define', assign: undefined, tables: undefined },
    { line: 3, kind: 'return', assign: undefined, tables: undefined },
  ],
);
assert.deepEqual(call('explain_json', [tables, script]), plan, 'a plan is always the same');

const [broken] = call('explain_json', [tables, 'return select * frm boats']).diagnostics;
assert.equal(broken.code, 'Q1001');
assert.equal(broken.isError, true);

assert.deepEqual(call('diagnose_json', [tables, script]), []);
assert.deepEqual(
  call('diagnose_json', [tables, 'return select * from baots where x = 1']),
  [{
    code: 'Q2003',
    isError: false,
    message: 'no table named `baots`',
    hints: ['did you mean `boats`?'],
    line: 1,
    column: 22,
  }],
);

const typed = 'select * from boats where d';
assert.deepEqual(
  call('complete_json', [tables, typed], typed.length).map(({ label, kind }) => `${kind} ${label}`),
  ['parameter dock'],
);

// Nothing that is thrown at it stops the instance.
for (let end = 0; end <= script.length; end += 1) {
  call('diagnose_json', [tables, script.slice(0, end)]);
  call('complete_json', [script.slice(end), script.slice(0, end)], end);
}
call('explain_json', ['', '{'.repeat(200_000)]);

console.log('the planner plans, diagnoses and completes in WebAssembly');
