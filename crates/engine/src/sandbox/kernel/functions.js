// Functions of scripts: one call, or one for each row.

let scopeCache = create(null);
const scopeProxy = new Proxy({}, {
    get(target, name, receiver) {
        if (typeof name === 'symbol') { return Reflect.get(target, name, receiver); }
        if (name in scopeCache) { return scopeCache[name]; }
        const value = host.scope(name);
        if (value === undefined) { return Reflect.get(target, name, receiver); }
        scopeCache[name] = value;
        return value;
    },
    has(target, name) { return typeof name === 'string' && host.scope(name) !== undefined || Reflect.has(target, name); },
});

function findFunction(exports, name) {
    let found = exports;
    if (name !== '') {
        for (const part of name.includes('.') ? name.split('.') : [name]) {
            if (found === null || found === undefined) { return null; }
            found = found[part];
        }
    }
    return typeof found === 'function' ? found : null;
}

// Where an exported function, or the module that is one, was written; nothing of one that is native.
const placeParts = ['fileName', 'lineNumber', 'columnNumber'].map(
    (name) => Object.getOwnPropertyDescriptor(Function.prototype, name).get);
function placeOf(exports, name) {
    const target = findFunction(exports, name) || findFunction(exports, '');
    return target ? placeParts.map((part) => apply(part, target, [])) : [];
}

function callFunction(exports, name, args) {
    const target = findFunction(exports, name);
    if (!target) { return null; }
    begin((value) => [value]);
    scopeCache = create(null);
    return settle(target.apply({ __proto__: scopeProxy }, args));
}

let run = null;
// The lists of rows and of arguments are filled afterwards.
function startRows(exports, name, count, rows, sources, isColumn) {
    const target = findFunction(exports, name);
    if (!target) { return false; }
    begin();
    scopeCache = create(null);
    run = { target, rows, sources, isColumn, out: new Array(count), open: count, isAsync: false };
    run.list = rows;
    for (let i = 0; i < count; i += 1) { run.out[i] = undefined; }
    if (count === 0) { succeed(run.out); }
    return true;
}
function listsOfRows() { return [run.rows, run.sources]; }

// Others go first: what the call needs is kept under a number, unless a function that was called for one of
// the first `called` rows has not answered yet, or waits for anything.
const parked = new Map();
function parkRows(id, called) {
    const isAnswered = run.open === run.out.length - called && timers.length === 0 && !run.isAsync;
    if (outcome.state === 0 ? !isAnswered : outcome.state === 2) { return false; }
    parked.set(id, { run, outcome, scopeCache });
    return true;
}
function resumeRows(id) {
    begin();
    ({ run, outcome, scopeCache } = parked.get(id));
    parked.delete(id);
}
// `select *`: one call for the whole value.
function wholeRow() { run.list = run.rows[0]; }

function callRows(from, to) {
    const { target, rows, list, sources, isColumn, out } = run;
    const current = run;
    const ours = outcome;
    for (let i = from; i < to && outcome.state === 0; i += 1) {
        let isAnswered = false;
        const next = (error, row) => {
            if (outcome !== ours) { return; }
            if (error) { fail(error); return; }
            if (isAnswered) { fail(new Error('next was called more than once')); return; }
            isAnswered = true;
            out[i] = row;
            current.open -= 1;
            if (current.open === 0) { succeed(out); }
        };
        const args = new Array(sources.length);
        for (let a = 0; a < sources.length; a += 1) {
            args[a] = sources[a].column ? sources[a].column[i] : sources[a].value;
        }
        const result = target.apply({ __proto__: scopeProxy, rows: list, row: rows[i], index: i, next }, args);
        if (isThenable(result)) {
            current.isAsync = true;
            result.then((value) => { if (isColumn && !isAnswered) { next(null, value); } }, fail);
        } else if (isColumn && !isAnswered && result !== undefined) {
            next(null, result);
        }
    }
    return poll();
}

// A column function that returned nothing and never called `next` has no value.
function settleColumns() {
    if (run.isColumn) { succeed(run.out); }
    return poll();
}
