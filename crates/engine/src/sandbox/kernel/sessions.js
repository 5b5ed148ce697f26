// One execution of a statement, whose scripts see the same parameters; and what they hand back to the host.

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
function StatementView(call) { this.at = call; }
StatementView.prototype = assign(create(viewTraps), { source: askStatement, make: frozenView });
function statementOf(call) {
    return new ProxyClass({}, new StatementView(call));
}
function closeSession(id) { sessions.delete(id); parked.delete(id); }
// What scripts have written into `params`; undefined if nothing, as mostly.
function overlayOf(id) {
    const params = sessions.get(id);
    return params !== undefined && keys(params).length > 0 ? params : undefined;
}

let MutableURI;
// The address that the running call was shown last.
let shownUri;
function mutableUri(text) {
    if (MutableURI === undefined) { MutableURI = requireBundled('ql.io-mutable-uri'); }
    return shownUri = new MutableURI(text);
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
