// Runs the hooks of a test of `qlio test`: `setup`, `test` and `tearDown` of a module, with a `test`
// object that collects what does not hold instead of stopping at it.
'use strict';

const assert = require('assert');

const FAILURES_MAX = 100;
const ASSERTIONS = ['ok', 'equal', 'notEqual', 'strictEqual', 'notStrictEqual', 'deepEqual',
    'notDeepEqual', 'deepStrictEqual', 'throws', 'doesNotThrow', 'ifError', 'fail'];

// What `setup` has made, for the other two.
let context;

exports.has = function (module, hook) {
    return module !== null && module !== undefined && typeof module[hook] === 'function';
};

function isThenable(value) {
    return value !== null && typeof value === 'object' && typeof value.then === 'function';
}

// Calls a hook that says by a callback when it is done; one that takes none is done when it returns.
function call(module, hook, rest) {
    return new Promise((resolve, reject) => {
        const done = (error) => { if (error) { reject(error); } else { resolve(); } };
        const result = module[hook](done, ...rest);
        if (hook === 'setup') { context = result; }
        if (isThenable(result)) {
            result.then((value) => { context = value; resolve(); }, reject);
        } else if (module[hook].length === 0) {
            resolve();
        }
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
        test.same = test.deepEqual;
        const result = module.test(test, isFailed ? root : null, isFailed ? undefined : root, context);
        if (isThenable(result)) { result.then(() => test.done(), reject); }
    });
};
