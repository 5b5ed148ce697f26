// Hooks and auth modules: what each may look at, what their results mean, and how they are called.

const statement = (handler) => statementOf(handler.call);
const params = (handler) => paramsOf(handler.id, handler.call);
const uriText = (handler) => ask(URI, handler.call);
const uri = (handler) => mutableUri(ask(URI, handler.call));
const headers = (handler) => headersView(handler.call);
const body = (handler) => ask(BODY, handler.call, undefined, view);
const bytes = (handler) => bufferOf(ask(BYTES, handler.call));

// The headers that the running call has been shown, and their handler; null if it was shown none.
let shownHeaders = null;
let shownBy = null;
function headersView(call) {
    shownBy = new HeaderView(call);
    return shownHeaders = new ProxyClass({}, shownBy);
}
// What a hook has made of headers: nothing, a list of the names and values that it wrote without reading any, or all
// that there are to be.
function changeOfHeaders(given) {
    if (shownBy !== null && given === shownHeaders && shownBy.source !== null) {
        return shownBy.written === null ? undefined : shownBy.written;
    }
    // A list of the hook's own is nothing that headers are made of.
    return Array.isArray(given) ? null : given;
}

function textOrNothing(result) { return result ? String(result) : undefined; }
function withHeaders(result, args) { return { payload: payloadOf(result), headers: changeOfHeaders(args.headers) }; }

// The hooks in the order of hooks.rs: the arguments that each may look at, and what its result means. `isPlain`: what
// the host gives of the arguments at once is a status, an address or nothing, and no argument is made of another.
const hooks = {
    'validate param': { makers: { __proto__: null, statement, params } },
    'patch uri': {
        isPlain: true,
        makers: { __proto__: null, statement, params },
        after(result) {
            if (!result) { return undefined; }
            if (result === shownUri) {
                const text = result.format();
                return typeof text === 'string' ? text : String(text);
            }
            if (!Array.isArray(result)) { return formatted(result); }
            const out = [];
            for (const item of result) { if (item) { out.push(formatted(item)); } }
            return out;
        },
    },
    'patch headers': {
        isPlain: true,
        makers: { __proto__: null, uri, headers, statement, params },
        after(result, args) { return changeOfHeaders(result || args.headers); },
    },
    'body template': { isPlain: true, makers: { __proto__: null, uri, headers, statement, params }, after: withHeaders },
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
    'patch mediaType': {
        isPlain: true,
        makers: { __proto__: null, uri: uriText, headers, body, statement, params },
        after: textOrNothing,
    },
    'patch status': {
        isPlain: true,
        makers: { __proto__: null, uri, headers, body, statement, params },
        after(result) { return typeof result === 'number' ? result : result ? Number(result) : undefined; },
    },
    'patch response': {
        isPlain: true,
        makers: { __proto__: null, uri, headers, body, statement, params },
        after(result) { return result; },
    },
};

// By their numbers, as the host calls them, with the function that was called last and what is known of it.
const numberedHooks = keys(hooks).map((name) => {
    const { isPlain, makers, after } = hooks[name];
    return { name, makers, after, Named: isPlain ? nameableArguments(makers) : undefined, last: undefined, traits: undefined };
});

function callHook(id, call, exports, number, given, isAsync) {
    running = call;
    runningSession = id;
    const kind = numberedHooks[number];
    const hook = exports[kind.name];
    if (kind.last !== hook) {
        if (typeof hook !== 'function') { throw new TypeError('`' + kind.name + '` is not a function'); }
        kind.traits = traitsOf(hook);
        kind.last = hook;
    }
    shownHeaders = shownBy = null;
    const { traits, after } = kind;
    let args;
    let seen;
    if (kind.Named !== undefined && traits.namesOnlyMembers) {
        args = seen = new kind.Named(call, given, traits);
    } else {
        args = argumentsOf(given);
        seen = new ProxyClass(args, new Arguments(kind.makers, id, call));
    }
    if (timers.length !== 0 || clock !== 0) { forgetTimers(); }
    const result = traits.looksAtThis ? hook.call(seen.statement, seen) : hook(seen);
    if (result !== shownHeaders && result !== shownUri && (typeof result === 'object' || typeof result === 'function')
        && isThenable(result)) {
        if (!isAsync) { throw new Error('hook ' + kind.name + ' returned a promise, but hooks.async is off'); }
        expect((answer) => after(answer, args));
        result.then(succeed, fail);
        return poll();
    }
    if (timers.length !== 0) { forgetTimers(); }
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
