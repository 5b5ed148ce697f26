// Connectors: one execution at a time in a realm, whose requests and timers are of the real world.

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
    fire(timers.pop(), now);
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
