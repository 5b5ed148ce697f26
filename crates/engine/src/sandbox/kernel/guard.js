// What scripts find of the language itself: no code from text, no loop of the interpreter that does not end soon.

// Taken before any script runs, so that scripts which change the built-ins break only themselves.
const { assign, defineProperty, create, freeze, hasOwn, keys, getPrototypeOf, setPrototypeOf } = Object;
const PENDING = Symbol('pending');
const TIMERS_MAX = 10000;

function hidden(name, value) {
    defineProperty(globalThis, name, { value, writable: true, configurable: true });
}

// A global whose module is compiled when it is first used.
function lazily(name, make) {
    defineProperty(globalThis, name, {
        configurable: true,
        get() { const value = make(); hidden(name, value); return value; },
        set(value) { hidden(name, value); },
    });
}

// ---- code from text is the host's business alone
function refuse() { throw new EvalError('code can not be made from text here'); }
for (const sample of [function () {}, async function () {}, function* () {}, async function* () {}]) {
    const prototype = getPrototypeOf(sample);
    const constructor = function Function() { refuse(); };
    constructor.prototype = prototype;
    defineProperty(prototype, 'constructor', { value: constructor, configurable: true });
    if (sample instanceof Object && prototype === Function.prototype) { hidden('Function', constructor); }
}
hidden('eval', refuse);

// ---- loops of the interpreter itself are not interrupted, so they get only what ends soon
const LENGTH_MAX = 1 << 22;
const { apply, ownKeys } = Reflect;
function tooLong() { throw new RangeError('an array is longer than ' + LENGTH_MAX + ' elements'); }
for (const name of ownKeys(Array.prototype)) {
    const method = Array.prototype[name];
    if (typeof method !== 'function' || name === 'constructor' || name === 'push' || name === 'pop'
        || name === 'at' || name === 'keys' || name === 'values' || name === 'entries'
        || name === 'concat' || typeof name === 'symbol') { continue; }
    const bounded = { [name]() {
        if (this !== null && this !== undefined && this.length > LENGTH_MAX) { tooLong(); }
        return apply(method, this, arguments);
    } }[name];
    defineProperty(bounded, 'length', { value: method.length, configurable: true });
    defineProperty(Array.prototype, name, { value: bounded, writable: true, configurable: true });
}
const { concat } = Array.prototype;
defineProperty(Array.prototype, 'concat', { writable: true, configurable: true, value: function () {
    for (let i = -1; i < arguments.length; i += 1) {
        const part = i < 0 ? this : arguments[i];
        if (Array.isArray(part) && part.length > LENGTH_MAX) { tooLong(); }
    }
    return apply(concat, this, arguments);
} });
