// Hooks and auth modules: their arguments, made when a hook looks at them, and what their results mean.

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
