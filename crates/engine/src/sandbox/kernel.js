// The part of the sandbox that lives inside the realm: the module loader, timers, and the calling
// conventions of hooks, auth modules, transformers, row functions and templates.
// Evaluates to a function of the host's services; returns what the host calls.
(function (host) {
'use strict';

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

// ---- timers run on a clock of their own: nobody waits, they only come in order
let clock = 0;
let timerSequence = 0;
let timers = [];
function setTimer(callback, delay, rest, every) {
    if (typeof callback !== 'function') { throw new TypeError('a timer needs a function'); }
    if (timers.length >= TIMERS_MAX) { throw new RangeError('too many timers'); }
    delay = Math.max(1, Math.trunc(Number(delay)) || 1);
    return insertTimer({ id: ++timerSequence, due: clock + delay, callback, rest, every: every ? delay : 0 });
}
function insertTimer(timer) {
    let low = 0;
    let high = timers.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (timers[middle].due > timer.due) { low = middle + 1; } else { high = middle; }
    }
    // Latest first, so that the next one is taken from the end; of equal ones the older comes out first.
    timers.splice(low, 0, timer);
    return timer.id;
}
function clearTimer(id) { timers = timers.filter((timer) => timer.id !== id); }
hidden('setTimeout', (callback, delay, ...rest) => setTimer(callback, delay, rest, false));
hidden('setInterval', (callback, delay, ...rest) => setTimer(callback, delay, rest, true));
hidden('setImmediate', (callback, ...rest) => setTimer(callback, 0, rest, false));
hidden('clearTimeout', clearTimer);
hidden('clearInterval', clearTimer);
hidden('clearImmediate', clearTimer);
if (typeof queueMicrotask !== 'function') { hidden('queueMicrotask', (job) => { Promise.resolve().then(job); }); }

// Runs the next timer. Without one, or with one beyond the deadline, nothing more can happen.
function tick(deadline) {
    const timer = timers.pop();
    if (!timer || timer.due > deadline) { return false; }
    clock = timer.due;
    if (timer.every) { timer.due = clock + timer.every; insertTimer(timer); }
    try {
        timer.callback.apply(undefined, timer.rest);
    } catch (error) {
        fail(error);
    }
    return true;
}

// ---- modules
const modules = new Map();
const bundled = new Map();
let loads = 0;

function directoryOf(path) {
    const at = path.lastIndexOf('/');
    return at <= 0 ? '/' : path.slice(0, at);
}

function requireFrom(directory) {
    return function require(name) {
        name = String(name);
        if (/^\.{0,2}\//.test(name) || name === '.' || name === '..') {
            return loadFile(host.resolve(directory, name)).exports;
        }
        return requireBundled(hasOwn(inner.standIns, name) ? inner.standIns[name] : name);
    };
}

function requireBundled(name) {
    const known = bundled.get(name);
    if (known) { return known.exports; }
    const body = host.bundled(name);
    if (body === undefined) { return inner.missing('module `' + name + '` is not available in the sandbox'); }
    const module = { id: name, exports: {} };
    bundled.set(name, module);
    body.call(module.exports, module.exports, requireBundled, module, host, inner);
    return module.exports;
}

function loadFile(path) {
    const known = modules.get(path);
    if (known) { return known; }
    const module = { id: path, filename: path, exports: {}, loaded: false, children: [], paths: [] };
    modules.set(path, module);
    const require = requireFrom(directoryOf(path));
    module.require = require;
    loads += 1;
    try {
        const text = host.readText(path);
        if (path.endsWith('.json')) {
            module.exports = JSON.parse(text);
        } else {
            const body = host.compile(text, path, 'exports, require, module, __filename, __dirname');
            body.call(module.exports, module.exports, require, module, path, directoryOf(path));
        }
        module.loaded = true;
    } catch (error) {
        modules.delete(path);
        throw error;
    } finally {
        loads -= 1;
    }
    return module;
}

function load(name, isFile) {
    begin();
    const exports = isFile ? loadFile(name).exports : requireBundled(name);
    timers = [];
    return exports;
}

// ---- globals
lazily('Buffer', () => requireBundled('buffer').Buffer);
lazily('TextEncoder', () => requireBundled('qlio-text').TextEncoder);
lazily('TextDecoder', () => requireBundled('qlio-text').TextDecoder);
hidden('global', globalThis);
hidden('process', {
    version: 'v0.8.28', versions: {}, env: {}, argv: [], platform: 'linux', pid: 1,
    cwd() { return '/'; },
    nextTick(job, ...rest) { Promise.resolve().then(() => job.apply(undefined, rest)); },
});
function logged(severity) {
    return function () { host.log(severity, requireBundled('util').format.apply(null, arguments)); };
}
hidden('console', {
    log: logged('info'), info: logged('info'), debug: logged('info'), trace: logged('info'),
    dir: logged('info'), warn: logged('warn'), error: logged('error'),
    assert(condition) { if (!condition) { host.log('error', 'Assertion failed'); } },
    time() {}, timeEnd() {},
});

// What a hook gets as `log`.
function log(severity, message) {
    const level = severity === 'error' || severity === 'warn' ? severity : 'info';
    let text = message;
    if (text instanceof Error) { text = text.message; }
    if (text === undefined || text === null || text === '') { text = '(no message)'; }
    host.log(level, typeof text === 'string' ? text : requireBundled('util').format(text));
}

// ---- the outcome of the current call
let outcome = { state: 0, value: undefined };
let finish = null;
// A call begins whose answer may come later.
function begin(then) {
    forgetTimers();
    expect(then);
}
// An answer is waited for; `then` makes of it what the host is given.
function expect(then) {
    outcome = { state: 0, value: undefined };
    finish = then || null;
}
function forgetTimers() {
    if (timers.length !== 0) { timers = []; }
    clock = 0;
}
function succeed(value) { if (outcome.state === 0) { outcome.state = 1; outcome.value = value; } }
function fail(error) { if (outcome.state === 0) { outcome.state = 2; outcome.value = error; } }

// The value of the call, its error thrown, or PENDING.
function poll() {
    if (outcome.state === 0) { return PENDING; }
    forgetTimers();
    if (outcome.state === 2) { throw outcome.value; }
    return finish ? finish(outcome.value) : outcome.value;
}

function isThenable(value) {
    if (value === null || typeof value !== 'object' && typeof value !== 'function') { return false; }
    isProbing = true;
    try {
        return typeof value.then === 'function';
    } finally {
        isProbing = false;
    }
}

// Waits for a promise; anything else is an answer at once.
function settle(value) {
    if (isThenable(value)) { value.then(succeed, fail); } else { succeed(value); }
    return poll();
}

// ---- structures of the host, filled level by level as scripts look into them (see view.rs)
const ProxyClass = Proxy;
// A function called `then` is never the host's, so asking for one looks into nothing.
let isProbing = false;

function fill(handler, target) {
    const { source, at, make, isFrozen } = handler;
    setPrototypeOf(handler, null);
    handler.source = null;
    source(at, target, make);
    if (isFrozen) { freeze(target); }
}
const viewTraps = create(null);
for (const name of ['set', 'has', 'deleteProperty', 'ownKeys', 'getOwnPropertyDescriptor', 'defineProperty', 'preventExtensions']) {
    const reflect = Reflect[name];
    viewTraps[name] = function (target, a, b, c) { fill(this, target); return reflect(target, a, b, c); };
}
viewTraps.get = function (target, name) {
    if (isProbing && name === 'then') { return undefined; }
    fill(this, target);
    return target[name];
};
// What the interpreter makes most of, and quickest by a constructor.
function View(source, at, make, isFrozen) {
    this.source = source;
    this.at = at;
    this.make = make;
    this.isFrozen = isFrozen;
}
View.prototype = viewTraps;
function view(isList, source, at) {
    return new ProxyClass(isList ? [] : {}, new View(source, at, view, false));
}
// Headers, to which hooks mostly only add: what is written waits in the target until something of them is read.
const headerTraps = create(viewTraps);
function HeaderView(call) {
    this.source = fillHeaders;
    this.at = call;
    this.make = view;
    this.isFrozen = false;
    this.isWritten = false;
}
HeaderView.prototype = headerTraps;
headerTraps.set = function (target, name, value) {
    // What is no text takes a header away.
    if (typeof value === 'string' || typeof value === 'number') { this.isWritten = true; } else { fill(this, target); }
    target[name] = value;
    return true;
};
function fillHeaders(call, target, make) {
    if (target === undefined) { ask(HEADER_MEMBERS, call); return; }
    const written = { ...target };
    for (const name of keys(written)) { delete target[name]; }
    ask(HEADER_MEMBERS, call, target, make);
    assign(target, written);
}
function frozenView(isList, source, at) {
    return new ProxyClass(isList ? [] : {}, new View(source, at, frozenView, true));
}

// ---- what the running call may ask for; the numbers are those of arguments.rs
const URI = 0;
const HEADERS = 1;
const BODY = 2;
const BYTES = 3;
const PARAMS = 4;
const WRITTEN = 5;
const STATEMENT = 6;
const HEADER_MEMBERS = 7;
const CONFIG = 8;
const HAS_WRITTEN = 1;
const HAS_CONFIG = 2;
const { ask } = host;
// The number of the running call.
let running = 0;

// ---- executions of statements
const sessions = new Map();
// What the parameters of all inherit: `config`, which is nearly always there and nearly never looked at. Read, it
// becomes a member of the session's lower layer; written, one of whatever it is written into.
const lowest = {};
const objectPrototype = getPrototypeOf(lowest);
function define(target, name, value) {
    defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
defineProperty(lowest, 'config', {
    enumerable: true,
    get() {
        const value = ask(CONFIG, running, undefined, view);
        for (let layer = this; layer !== null && layer !== lowest; layer = getPrototypeOf(layer)) {
            if (getPrototypeOf(layer) === lowest) { define(layer, 'config', value); }
        }
        return value;
    },
    set(value) { define(this, 'config', value); },
});
freeze(lowest);
function paramsOf(id, call) {
    let params = sessions.get(id);
    if (params === undefined) {
        const lower = create(lowest);
        const has = ask(PARAMS, call, lower, view);
        if ((has & HAS_CONFIG) === 0) { setPrototypeOf(lower, objectPrototype); }
        params = create(lower);
        if ((has & HAS_WRITTEN) !== 0) { ask(WRITTEN, call, params, view); }
        sessions.set(id, params);
    }
    return params;
}
// `statement` is a read-only copy: what a hook writes into it, the next one does not see.
function askStatement(call, target, make) { ask(STATEMENT, call, target, make); }
function statementOf(call) {
    return new ProxyClass({}, new View(askStatement, call, frozenView, false));
}
function closeSession(id) { sessions.delete(id); parked.delete(id); }
// What scripts have written into `params`; undefined if nothing, as mostly.
function overlayOf(id) {
    const params = sessions.get(id);
    return params !== undefined && keys(params).length > 0 ? params : undefined;
}

let MutableURI;
function mutableUri(text) {
    if (MutableURI === undefined) { MutableURI = requireBundled('ql.io-mutable-uri'); }
    return new MutableURI(text);
}

function formatted(uri) {
    if (uri !== null && typeof uri === 'object' && typeof uri.format === 'function') {
        const text = uri.format();
        return typeof text === 'string' ? text : String(text);
    }
    if (typeof uri === 'string' || uri instanceof String) { return mutableUri(String(uri)).format(); }
    throw new TypeError('patch uri must return a URI or a list of URIs');
}

function payloadOf(result) {
    if (!result) { return undefined; }
    if (typeof result === 'string') { return { content: result }; }
    const type = result.type;
    return {
        content: contentOf(result.content),
        type: type === undefined || type === null ? undefined : String(type),
        value: 'value' in result ? { is: result.value } : undefined,
    };
}
// Text stays, bytes are handed over as base64 in a wrapper, anything else as its text.
function contentOf(content) {
    if (content === undefined || content === null) { return undefined; }
    if (content instanceof Uint8Array) { return { base64: toBase64.call(content) }; }
    if (typeof content === 'object' && !(content instanceof String)) { return JSON.stringify(content); }
    return String(content);
}
const toBase64 = Uint8Array.prototype.toBase64;

function bufferOf(bytes) { return requireBundled('buffer').Buffer.fromHost(bytes); }

// ---- arguments of hooks, made when a hook looks at them
const argumentTraps = create(null);
function makeArgument(handler, target, name) {
    const value = target[name];
    if (value !== undefined) { return value; }
    const make = handler.makers[name];
    if (make === undefined || hasOwn(target, name)) { return value; }
    return target[name] = make(handler, target);
}
argumentTraps.get = function (target, name) {
    return typeof name === 'symbol' ? target[name] : makeArgument(this, target, name);
};
argumentTraps.set = function (target, name, value) { target[name] = value; return true; };
for (const trap of ['has', 'deleteProperty', 'ownKeys', 'getOwnPropertyDescriptor', 'defineProperty', 'preventExtensions']) {
    const reflect = Reflect[trap];
    argumentTraps[trap] = function (target, a, b) {
        for (const name of keys(this.makers)) { makeArgument(this, target, name); }
        setPrototypeOf(this, null);
        return reflect(target, a, b);
    };
}

function Arguments(makers, id, call) {
    this.makers = makers;
    this.id = id;
    this.call = call;
}
Arguments.prototype = argumentTraps;

const statement = (handler) => statementOf(handler.call);
const params = (handler) => paramsOf(handler.id, handler.call);
const uriText = (handler) => ask(URI, handler.call);
const uri = (handler) => mutableUri(ask(URI, handler.call));
const headers = (handler) =>
    new ProxyClass({}, new HeaderView(handler.call));
const body = (handler) => ask(BODY, handler.call, undefined, view);
const bytes = (handler) => bufferOf(ask(BYTES, handler.call));

function textOrNothing(result) { return result ? String(result) : undefined; }
function withHeaders(result, args) { return { payload: payloadOf(result), headers: args.headers }; }

// The arguments that a hook may look at, and what its result means.
const hooks = {
    'validate param': { makers: { __proto__: null, statement, params } },
    'patch uri': {
        makers: { __proto__: null, statement, params },
        after(result) {
            if (!result) { return undefined; }
            if (!Array.isArray(result)) { return formatted(result); }
            const out = [];
            for (const item of result) { if (item) { out.push(formatted(item)); } }
            return out;
        },
    },
    'patch headers': {
        makers: { __proto__: null, uri, headers, statement, params },
        after(result, args) { return result || args.headers; },
    },
    'body template': { makers: { __proto__: null, uri, headers, statement, params }, after: withHeaders },
    'patch body': { makers: { __proto__: null, uri, headers, statement, params }, after: withHeaders },
    'compute key': { makers: { __proto__: null, uri: uriText, headers, statement, params }, after: textOrNothing },
    'parse response': {
        makers: {
            __proto__: null,
            uri,
            headers,
            bytes,
            body: (handler, args) => [makeArgument(handler, args, 'bytes')],
            length: (handler, args) => makeArgument(handler, args, 'bytes').length,
            decode: () => () => host.decoded(),
            statement,
            params,
        },
        after: payloadOf,
    },
    'patch mediaType': { makers: { __proto__: null, uri: uriText, headers, body, statement, params }, after: textOrNothing },
    'patch status': {
        makers: { __proto__: null, uri, headers, body, statement, params },
        after(result) { return typeof result === 'number' ? result : result ? Number(result) : undefined; },
    },
    'patch response': {
        makers: { __proto__: null, uri, headers, body, statement, params },
        after(result) { return result; },
    },
};

// Most hooks do not look at `this`, which is the statement; then it need not be made. A function that does names it.
const sourceOf = Function.prototype.toString;
const lookingAtThis = new WeakMap();
function looksAtThis(hook) {
    let looks = lookingAtThis.get(hook);
    if (looks === undefined) {
        looks = /this|super|native code/.test(apply(sourceOf, hook, []));
        lookingAtThis.set(hook, looks);
    }
    return looks;
}

// An object with the arguments that cost nothing, of what the host gives: that object, the URI or the status
// alone, or nothing.
function argumentsOf(given) {
    switch (typeof given) {
    case 'number': return { status: given, log };
    case 'string': return { uri: mutableUri(given), log };
    case 'undefined': return { log };
    default: given.log = log; return given;
    }
}

function callHook(id, call, exports, name, given, isAsync) {
    running = call;
    const hook = exports[name];
    if (typeof hook !== 'function') { throw new TypeError('`' + name + '` is not a function'); }
    const { makers, after } = hooks[name];
    const args = argumentsOf(given);
    const handler = new Arguments(makers, id, call);
    const self = looksAtThis(hook) ? makeArgument(handler, args, 'statement') : undefined;
    forgetTimers();
    const result = hook.call(self, new ProxyClass(args, handler));
    if (isThenable(result)) {
        if (!isAsync) { throw new Error('hook ' + name + ' returned a promise, but hooks.async is off'); }
        expect((answer) => after(answer, args));
        result.then(succeed, fail);
        return poll();
    }
    forgetTimers();
    return after(result, args);
}

// Validates all names in one crossing: the index of the first that is refused, or -1.
function validate(id, call, exports, names, values, count) {
    running = call;
    const hook = exports['validate param'];
    const { makers } = hooks['validate param'];
    const args = new ProxyClass({ log }, new Arguments(makers, id, call));
    begin();
    for (let i = 0; i < count; i += 1) {
        const accepted = hook(args, names[i], values[i]);
        if (isThenable(accepted)) { throw new Error('hook validate param can not return a promise'); }
        if (!accepted) { return i; }
    }
    return -1;
}

function callAuth(id, call, exports) {
    running = call;
    const auth = typeof exports === 'function' ? exports : exports.auth;
    if (typeof auth !== 'function') { throw new TypeError('the auth module exports no function `auth`'); }
    begin();
    const done = (error) => {
        if (error === undefined || error === null || error === false) { succeed(true); } else { fail(error); }
    };
    // Modules of the original's time take no settings: a function of two is given the callback second.
    const params = paramsOf(id, call);
    const given = auth.length === 2 ? [params, done] : [params, ask(BODY, call, undefined, view), done];
    const result = apply(auth, exports, given);
    // An auth function may also be asynchronous; its rejection is a denial.
    if (isThenable(result)) { result.then(undefined, fail); }
    return poll();
}

function callTransformer(exports, text, headers) {
    begin();
    if (typeof exports.toJson !== 'function') { throw new TypeError('the transformer exports no function `toJson`'); }
    const result = exports.toJson(text, succeed, fail, headers);
    if (isThenable(result)) { result.then(undefined, fail); }
    return poll();
}

// ---- connectors: one execution at a time in a realm, whose requests and timers are of the real world
let execution = null;
const connectorInstances = new Map();
const failures = new WeakMap();
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'];

class Headers {
    #values;
    constructor(values) { this.#values = new Map(); for (const name of keys(values)) { this.#values.set(name.toLowerCase(), values[name]); } }
    get(name) {
        const value = this.#values.get(String(name).toLowerCase());
        return value === undefined ? null : Array.isArray(value) ? value.join(', ') : value;
    }
    has(name) { return this.#values.has(String(name).toLowerCase()); }
    forEach(visit) { for (const name of this.#values.keys()) { visit(this.get(name), name, this); } }
    *entries() { for (const name of this.#values.keys()) { yield [name, this.get(name)]; } }
    keys() { return this.#values.keys(); }
    *values() { for (const name of this.#values.keys()) { yield this.get(name); } }
    [Symbol.iterator]() { return this.entries(); }
}

class Response {
    #parts;
    constructor(parts) {
        this.#parts = parts;
        this.status = parts.status;
        this.statusText = parts.statusText;
        this.ok = parts.status >= 200 && parts.status < 300;
        this.url = parts.url;
        this.redirected = parts.redirected;
        this.headers = new Headers(parts.headers);
    }
    async text() { return this.#parts.readText(); }
    async json() { return JSON.parse(this.#parts.readText()); }
    async bytes() { return this.#parts.readBytes(); }
    async arrayBuffer() { return this.#parts.readBytes().buffer; }
    async buffer() { return bufferOf(this.#parts.readBytes()); }
}

// The names and values of headers in any of the forms in which people write them.
function headersOf(given) {
    const headers = {};
    if (given === undefined || given === null) { return headers; }
    if (typeof given !== 'object') { throw new TypeError('fetch: the headers must be an object'); }
    const add = (name, value) => {
        if (value === undefined || value === null) { return; }
        headers[String(name)] = Array.isArray(value) ? value.map(String) : String(value);
    };
    if (Array.isArray(given)) { for (const [name, value] of given) { add(name, value); } return headers; }
    if (typeof given.forEach === 'function' && !hasOwn(given, 'forEach')) {
        given.forEach((value, name) => add(name, value));
        return headers;
    }
    for (const name of keys(given)) { add(name, given[name]); }
    return headers;
}

function requestOf(request, options) {
    const isObject = request !== null && typeof request === 'object';
    const asked = isObject ? { ...request, ...options } : { ...options };
    const uri = isObject && typeof request.format !== 'function' ? asked.uri ?? asked.url : formattedUri(request);
    if (typeof uri !== 'string' || uri === '') { throw new TypeError('fetch needs a URI, as text or as `uri` of an object'); }
    const method = String(asked.method ?? 'GET').toUpperCase();
    if (!METHODS.includes(method)) { throw new TypeError('fetch knows the methods ' + METHODS.join(', ') + ', not ' + method); }
    const headers = headersOf(asked.headers);
    let body = asked.body;
    if (body === undefined || body === null) {
        body = undefined;
    } else if (method === 'GET') {
        throw new TypeError('fetch: a GET has no body');
    } else {
        const isJson = typeof body === 'object' && !(body instanceof Uint8Array) && !(body instanceof String);
        const hasType = keys(headers).some((name) => name.toLowerCase() === 'content-type');
        if (!hasType) { headers['content-type'] = isJson ? 'application/json' : 'text/plain;charset=UTF-8'; }
        body = contentOf(body);
    }
    const timeout = asked.timeout === undefined ? undefined : Number(asked.timeout);
    if (timeout !== undefined && !(timeout > 0)) { throw new TypeError('fetch: `timeout` must be a number of milliseconds above 0'); }
    if (asked.redirect !== undefined && asked.redirect !== 'follow' && asked.redirect !== 'manual') {
        throw new TypeError('fetch: `redirect` must be follow or manual');
    }
    return { method, uri, headers, body, timeout, follows: asked.redirect !== 'manual' };
}
function formattedUri(uri) {
    return uri !== null && typeof uri === 'object' && typeof uri.format === 'function' ? String(uri.format()) : String(uri ?? '');
}

function fetch(request, options) {
    return new Promise((resolve, reject) => {
        const current = execution;
        if (current === null) { throw new TypeError('fetch works only while `exec` is running'); }
        const asked = requestOf(request, options);
        current.asked += 1;
        // What goes over the limit is not kept: it ends the execution.
        if (current.asked > current.askedMax) { return; }
        asked.id = current.asked;
        current.open.set(asked.id, { resolve, reject });
        current.requests.push(asked);
    });
}
function allowFetch() {
    hidden('fetch', fetch);
    hidden('Headers', Headers);
    hidden('Response', Response);
}

function newConnector(exports) {
    const instance = typeof exports === 'function' ? new exports() : exports;
    if (instance === null || typeof instance !== 'object' || typeof instance.exec !== 'function') {
        throw new TypeError('a connector must have a function `exec(args, verb, type)`: on what its constructor makes, or among its exports');
    }
    return instance;
}
function describeConnector(exports) {
    begin();
    newConnector(exports);
    const name = exports.connectorName;
    if (name !== undefined && typeof name !== 'string') { throw new TypeError('`connectorName` must be text'); }
    return name ? name : undefined;
}

// What `exec` answers with, as a list with its body; the description of what is none.
function answerOfConnector(result) {
    if (result !== null && typeof result === 'object' && !Array.isArray(result) && 'body' in result) { return [result.body]; }
    if (result === null || result === undefined) { return 'nothing'; }
    if (Array.isArray(result)) { return 'a list'; }
    return typeof result === 'object' ? 'an object without one' : 'a ' + typeof result;
}
function quietEmitter() {
    const told = (severity) => (event) => { log(severity, event && event.msg !== undefined ? event.msg : event); };
    return {
        emit() { return false; }, on() { return this; }, once() { return this; }, removeListener() { return this; },
        emitEvent: told('info'), emitWarning: told('warn'), emitError: told('error'),
        beginEvent(opts) { return { event: {}, cb: opts && opts.cb ? opts.cb : function () {}, end() {} }; },
    };
}
const jsonText = {
    toJson(text, ok, failed) {
        let value;
        try { value = JSON.parse(text); } catch (error) { return failed ? failed(error) : undefined; }
        return ok(value);
    },
    serialize(value) { return JSON.stringify(value); },
};

function beginConnector(call, exports, kind, key, askedMax) {
    begin((result) => { execution = null; return answerOfConnector(result); });
    const current = { asked: 0, askedMax, open: new Map(), requests: [] };
    execution = current;
    let instance = connectorInstances.get(key);
    if (instance === undefined) {
        instance = newConnector(exports);
        connectorInstances.set(key, instance);
    }
    const answered = (error, result) => {
        if (execution !== current) { return; }
        if (error) { fail(error); } else { succeed(result); }
    };
    const args = ask(BODY, call, undefined, view);
    args.resource = instance;
    args.callback = answered;
    args.log = log;
    args.fetch = fetch;
    args.xformers = { json: jsonText };
    args.serializers = { json: jsonText };
    args.emitter = quietEmitter();
    args.logEmitter = quietEmitter();
    args.parentEvent = {};
    try {
        const result = instance.exec(args, ask(HEADERS, call, undefined, view), kind);
        if (isThenable(result)) {
            result.then((value) => answered(null, value), (error) => { if (execution === current) { fail(error); } });
        } else if (result !== undefined) {
            answered(null, result);
        }
    } catch (error) {
        fail(error);
    }
}
function setClock(now) { clock = now; }
function runTimer(now) {
    if (outcome.state !== 0 || timers.length === 0 || timers[timers.length - 1].due > now) { return false; }
    const timer = timers.pop();
    if (timer.every) { timer.due = now + timer.every; insertTimer(timer); }
    try {
        timer.callback.apply(undefined, timer.rest);
    } catch (error) {
        fail(error);
    }
    return true;
}
function takeRequests() {
    const { requests } = execution;
    execution.requests = [];
    return requests;
}
// Requests asked for, how many may be, requests that are open, the time of the next timer.
function stateOfConnector() {
    return [execution.asked, execution.askedMax, execution.open.size, timers.length > 0 ? timers[timers.length - 1].due : -1];
}
// The failed request, if it is that whose error the execution fails with, and the status of the error.
function failureOfConnector() {
    if (outcome.state !== 2) { return [-1, 0]; }
    execution = null;
    const error = outcome.value;
    if (error === null || typeof error !== 'object') { return [-1, 0]; }
    const { status } = error;
    return [failures.get(error) ?? -1, Number.isInteger(status) && status >= 400 && status <= 599 ? status : 0];
}
function settleRequest(id) {
    const open = execution === null ? undefined : execution.open.get(id);
    if (open !== undefined) { execution.open.delete(id); }
    return open;
}
function answerRequest(id, parts) {
    const open = settleRequest(id);
    if (open !== undefined) { open.resolve(new Response(parts)); }
}
function failRequest(id, number, code, message) {
    const open = settleRequest(id);
    if (open === undefined) { return; }
    const error = new TypeError(message);
    error.code = code;
    failures.set(error, number);
    open.reject(error);
}

// ---- functions of scripts (UDFs)
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

// ---- templates
const templates = new Map();
function loadTemplate(id, text, file, escape) {
    const ejs = requireBundled('qlio-ejs');
    const { code, mayAssign } = ejs.generate(text);
    const body = host.compile(code, file, 'locals, filters, escape');
    const render = (locals) => body(locals, ejs.filters, ejs.escapes[escape]);
    templates.set(id, mayAssign ? (locals) => withoutNewGlobals(render, locals) : render);
}
function renderTemplate(id, session, call) {
    const render = templates.get(id);
    if (!render) { return null; }
    running = call;
    const locals = { statement: statementOf(call), params: paramsOf(session, call) };
    begin();
    return render(locals);
}
// Templates assign undeclared loop variables; they must not meet the next rendering.
function withoutNewGlobals(render, locals) {
    const before = new Set(keys(globalThis));
    try {
        return render(locals);
    } finally {
        for (const name of keys(globalThis)) { if (!before.has(name)) { delete globalThis[name]; } }
    }
}

function isHook(name) { return hasOwn(hooks, name); }
function describeExports(exports) {
    const found = { hooks: [], others: [], accept: undefined };
    if (exports === null || typeof exports !== 'object' && typeof exports !== 'function') { return found; }
    for (const name of keys(exports)) {
        (isHook(name) && typeof exports[name] === 'function' ? found.hooks : found.others).push(name);
    }
    if (typeof exports.accept === 'string') { found.accept = exports.accept; }
    return found;
}

// What modules of the sandbox may know, and change: what `require` does without a module, and which modules
// the files of the realm get instead of those that they name.
const inner = {
    standIns: {},
    get isLoading() { return loads > 0; },
    get hasTimers() { return timers.length > 0; },
    missing(message) { throw new Error(message); },
};
return {
    load, tick, poll, bufferOf, closeSession, overlayOf, callHook, validate, callAuth,
    callTransformer, placeOf, callFunction, startRows, listsOfRows, parkRows, resumeRows, wholeRow, callRows, settleColumns, loadTemplate,
    renderTemplate, describeExports, allowFetch, describeConnector, beginConnector, setClock, runTimer, takeRequests,
    stateOfConnector, failureOfConnector, answerRequest, failRequest,
};
})
