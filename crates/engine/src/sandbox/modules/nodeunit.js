// Runs the hooks of a test of `qlio test`: `setup`, `test` and `tearDown` of a module, with a `test`
// object that collects what does not hold instead of stopping at it.
'use strict';

const assert = require('assert');
const { setTimeout } = globalThis;

const FAILURES_MAX = 100;
const ASSERTIONS = ['ok', 'equal', 'notEqual', 'strictEqual', 'notStrictEqual', 'deepEqual',
    'notDeepEqual', 'deepStrictEqual', 'throws', 'doesNotThrow', 'ifError', 'fail'];
// Older names of some of them.
const ALIASES = { equals: 'equal', same: 'deepEqual' };

// What `setup` has made, for the other two.
let context;

exports.has = function (module, hook) {
    return module !== null && module !== undefined && typeof module[hook] === 'function';
};

function isThenable(value) {
    return value !== null && typeof value === 'object' && typeof value.then === 'function';
}

// Tests require modules of Node that they hardly use, so one that is not here fails when it is used.
kernel.missing = function (message) {
    const fail = () => { throw new Error(message); };
    return new Proxy(fail, { get: fail, set: fail, has: fail, ownKeys: fail, getPrototypeOf: fail });
};

// Hooks may serve what the test needs.
kernel.standIns = {
    http: 'qlio-test-http',
    express: 'qlio-test-express',
    fs: 'qlio-test-fs',
    util: 'qlio-test-util',
    sys: 'qlio-test-util',
};

// Has a server that hooks have made answer a request.
exports.request = function (module, server, request) {
    return require('qlio-test-http').answer(server, request);
};

// Ends a hook that returned without saying that it is done, if nothing is left that could still say so:
// the timer comes after all jobs, and other timers mean that the hook goes on.
function endIfIdle(end) {
    if (kernel.hasTimers) { return; }
    setTimeout(() => { if (!kernel.hasTimers) { end(); } }, 0);
}

// `setup` may hand over what it has made as the one argument of its callback.
function isContext(hook, values) {
    const [first] = values;
    return hook === 'setup' && values.length === 1 && first !== null && typeof first === 'object'
        && !(first instanceof Error);
}

function call(module, hook, rest) {
    return new Promise((resolve, reject) => {
        const done = (...values) => {
            if (isContext(hook, values)) { [context] = values; } else if (values[0]) { reject(values[0]); }
            resolve();
        };
        const result = module[hook](done, ...rest);
        if (isThenable(result)) {
            result.then((value) => { if (hook === 'setup') { context = value; } resolve(); }, reject);
            return;
        }
        if (hook === 'setup' && result !== undefined) { context = result; }
        endIfIdle(resolve);
    });
}

exports.setup = function (module) {
    context = undefined;
    return exports.has(module, 'setup') ? call(module, 'setup', []) : undefined;
};

exports.tearDown = function (module) {
    return exports.has(module, 'tearDown') ? call(module, 'tearDown', [context]) : undefined;
};

// The line of the test file in a stack such as `    at f (/a.js:3:9)`.
function lineOf(stack) {
    for (const frame of String(stack).split('\n')) {
        const found = /([^\s(]+):(\d+):\d+\)?$/.exec(frame);
        if (found && !found[1].startsWith('qlio:')) { return Number(found[2]); }
    }
    return null;
}

exports.test = function (module, isFailed, root) {
    if (!exports.has(module, 'test')) { return { failures: [] }; }
    const failures = [];
    let count = 0;
    let expected = null;
    function failed(message, stack) {
        if (failures.length < FAILURES_MAX) { failures.push({ message: String(message), line: lineOf(stack) }); }
    }
    return new Promise((resolve, reject) => {
        const test = {
            expect(number) { expected = number; },
            done(error) {
                if (error) { failed(error.message || error, error.stack); }
                if (expected !== null && expected !== count) {
                    failed('expected ' + expected + ' assertions, ' + count + ' were made', '');
                }
                resolve({ failures });
            },
        };
        for (const name of ASSERTIONS) {
            test[name] = function (...args) {
                count += 1;
                try {
                    assert[name](...args);
                } catch (error) {
                    failed(error.message, new Error().stack);
                }
            };
        }
        for (const alias of Object.keys(ALIASES)) { test[alias] = test[ALIASES[alias]]; }
        const { done } = test;
        const result = module.test(test, isFailed ? root : null, isFailed ? undefined : root, context);
        if (isThenable(result)) { result.then(() => done(), reject); } else { endIfIdle(done); }
    });
};
