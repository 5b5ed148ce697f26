// Assertions.
'use strict';

const util = require('util');

function AssertionError(options) {
    this.actual = options.actual;
    this.expected = options.expected;
    this.operator = options.operator;
    this.message = options.message || util.inspect(options.actual) + ' ' + options.operator + ' ' + util.inspect(options.expected);
    const stack = new Error(this.message).stack;
    Object.defineProperty(this, 'stack', { value: stack, writable: true, configurable: true });
}
util.inherits(AssertionError, Error);
AssertionError.prototype.name = 'AssertionError';

function fail(actual, expected, message, operator) {
    if (message instanceof Error) { throw message; }
    throw new AssertionError({ actual, expected, message, operator });
}

function assert(value, message) { if (!value) { fail(value, true, message, '=='); } }
module.exports = assert;
assert.AssertionError = AssertionError;
assert.ok = assert;
assert.fail = fail;
assert.equal = function (a, b, message) { if (a != b) { fail(a, b, message, '=='); } };
assert.notEqual = function (a, b, message) { if (a == b) { fail(a, b, message, '!='); } };
assert.strictEqual = function (a, b, message) { if (a !== b) { fail(a, b, message, '==='); } };
assert.notStrictEqual = function (a, b, message) { if (a === b) { fail(a, b, message, '!=='); } };
assert.deepEqual = function (a, b, message) { if (!same(a, b, 0)) { fail(a, b, message, 'deepEqual'); } };
assert.notDeepEqual = function (a, b, message) { if (same(a, b, 0)) { fail(a, b, message, 'notDeepEqual'); } };
assert.deepStrictEqual = assert.deepEqual;
assert.throws = function (work, expected, message) {
    try {
        work();
    } catch (error) {
        if (expected instanceof RegExp && !expected.test(error)) { throw error; }
        if (typeof expected === 'function' && expected.prototype && !(error instanceof expected) && expected.call({}, error) !== true) { throw error; }
        return;
    }
    fail(undefined, expected, typeof expected === 'string' ? expected : message || 'Missing expected exception', 'throws');
};
assert.doesNotThrow = function (work) { work(); };
assert.ifError = function (error) { if (error) { throw error; } };

function same(a, b, depth) {
    if (a === b || a !== a && b !== b) { return true; }
    if (depth > 200) { throw new RangeError('the values are nested too deeply to compare'); }
    if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') { return a == b; }
    if (a instanceof Date && b instanceof Date) { return a.getTime() === b.getTime(); }
    if (a instanceof RegExp && b instanceof RegExp) { return String(a) === String(b); }
    if (Array.isArray(a) !== Array.isArray(b)) { return false; }
    const names = Object.keys(a);
    return names.length === Object.keys(b).length
        && names.every((name) => Object.hasOwn(b, name) && same(a[name], b[name], depth + 1));
}
