// A URI that hooks can change (HOK-6), in the normal form of URI-18: scheme and host in
// lower case, path at least `/`, query decoded and encoded anew with names grouped.
'use strict';

function encode(text) {
    try {
        return encodeURIComponent(text);
    } catch (error) {
        return encodeURIComponent(String(text).toWellFormed());
    }
}

// `+` is a space; bytes that are no UTF-8 become U+FFFD.
function decode(text) {
    if (!text.includes('%') && !text.includes('+')) { return text; }
    text = text.replace(/\+/g, ' ');
    try {
        return decodeURIComponent(text);
    } catch (error) {
        const bytes = [];
        const raw = host.encode(text.toWellFormed(), 'utf8');
        for (let i = 0; i < raw.length; i += 1) {
            const digits = raw[i] === 37 && i + 2 < raw.length ? String.fromCharCode(raw[i + 1], raw[i + 2]) : '';
            if (/^[0-9a-f]{2}$/i.test(digits)) {
                bytes.push(parseInt(digits, 16));
                i += 2;
            } else {
                bytes.push(raw[i]);
            }
        }
        return host.decode(Uint8Array.from(bytes).toBase64(), 'utf8');
    }
}

function encodePath(path) {
    if (/^[\w\-.~!$&()*+,;=:@\/%]*$/.test(path)) { return path; }
    return path.toWellFormed().replace(/[\s"'<>{}|^`\\]|[^\x00-\x7f]+/gu, (part) => part === "'" ? '%27' : encodeURIComponent(part));
}

// The text that an object was made of, until somebody looks at its parts: most hooks never do.
const TEXT = Symbol('text');

function MutableURI(text) {
    if (!(this instanceof MutableURI)) { return new MutableURI(text); }
    if (text === undefined || text === null || text === '') { throw new Error('a URI must not be empty'); }
    this[TEXT] = String(text);
}

function isScheme(text) {
    return text === 'http' || text === 'https' || /^[a-z][a-z0-9+.\-]*$/i.test(text);
}

// Reads the parts, and puts them where loops over the object do not meet them.
function take(uri) {
    // Cut at the marks: one expression for all of it takes three times as long.
    let path = uri[TEXT].trim();
    let scheme, authority, hash, query = '';
    let at = path.indexOf('#');
    if (at >= 0) { hash = path.slice(at + 1); path = path.slice(0, at); }
    at = path.indexOf('?');
    if (at >= 0) { query = path.slice(at + 1); path = path.slice(0, at); }
    at = path.indexOf(':');
    if (at > 0 && isScheme(path.slice(0, at))) {
        scheme = path.slice(0, at).toLowerCase();
        path = path.slice(at + 1);
    }
    if (path.startsWith('//')) {
        at = path.indexOf('/', 2);
        authority = at < 0 ? path.slice(2) : path.slice(2, at);
        path = at < 0 ? '/' : path.slice(at);
        at = authority.lastIndexOf('@') + 1;
        authority = authority.slice(0, at) + authority.slice(at).toLowerCase();
    }
    const value = { scheme, authority, path: encodePath(path), hash, params: parseQuery(query) };
    define(uri, '_uri', { writable: true, configurable: true, value });
    return value;
}

function parseQuery(query) {
    const params = {};
    let from = 0;
    while (from < query.length) {
        let to = query.indexOf('&', from);
        if (to < 0) { to = query.length; }
        if (to > from) {
            const pair = query.slice(from, to);
            const at = pair.indexOf('=');
            add(params, decode(at < 0 ? pair : pair.slice(0, at)), at < 0 ? '' : decode(pair.slice(at + 1)));
        }
        from = to + 1;
    }
    return params;
}

const define = Object.defineProperty;
const hasOwn = Object.prototype.hasOwnProperty;
function own(params, name) { return hasOwn.call(params, name); }

function set(params, name, value) {
    if (name === '__proto__') {
        define(params, name, { value, enumerable: true, writable: true, configurable: true });
    } else {
        params[name] = value;
    }
}

function add(params, name, value) {
    if (!own(params, name)) {
        set(params, name, value);
    } else if (Array.isArray(params[name])) {
        params[name].push(value);
    } else {
        set(params, name, [params[name], value]);
    }
}

function check(name, value, hasValue) {
    if (name === undefined || name === null || name === '') { throw new Error('a parameter needs a name'); }
    if (hasValue && (value === undefined || value === null)) {
        throw new Error('the parameter `' + name + '` needs a value');
    }
}

function textOf(value) {
    switch (typeof value) {
    case 'string': return encode(value);
    case 'number': case 'boolean': case 'bigint': return encode(String(value));
    default: return value instanceof String ? encode(String(value)) : '';
    }
}

// Own parts hide this from then on.
define(MutableURI.prototype, '_uri', {
    configurable: true,
    get() { return take(this); },
    set(value) { define(this, '_uri', { writable: true, configurable: true, value }); },
});

Object.assign(MutableURI.prototype, {
    addParam(name, value) {
        check(name, value, true);
        for (const item of Array.isArray(value) ? value : [value]) { add(this._uri.params, String(name), item); }
        return this;
    },
    setParam(name, value) {
        check(name, value, true);
        // It moves behind all others, as if it had been removed and added (HOK-6).
        delete this._uri.params[name];
        set(this._uri.params, String(name), Array.isArray(value) ? value.slice() : value);
        return this;
    },
    removeParam(name, value) {
        check(name);
        if (!own(this._uri.params, name)) { return this; }
        const held = this._uri.params[name];
        if (value === undefined || value === null) {
            delete this._uri.params[name];
        } else if (Array.isArray(held)) {
            const rest = held.filter((item) => String(item) !== String(value));
            if (rest.length === 0) { delete this._uri.params[name]; } else { this._uri.params[name] = rest.length === 1 ? rest[0] : rest; }
        } else if (String(held) === String(value)) {
            delete this._uri.params[name];
        }
        return this;
    },
    getParam(name) { return own(this._uri.params, name) ? this._uri.params[name] : undefined; },
    params() { return this._uri.params; },
    removeEmptyParams() {
        const params = this._uri.params;
        const names = Object.keys(params);
        for (let i = 0; i < names.length; i += 1) {
            const name = names[i];
            const held = params[name];
            if (held === '') {
                delete params[name];
            } else if (Array.isArray(held)) {
                const rest = held.filter((item) => item !== '');
                if (rest.length === 0) { delete params[name]; } else if (rest.length < held.length) { params[name] = rest; }
            }
        }
        return this;
    },
    format() {
        const uri = this._uri;
        const params = uri.params;
        let text = uri.scheme === undefined ? '' : uri.scheme + ':';
        if (uri.authority !== undefined) { text += '//' + uri.authority; }
        text += uri.path;
        let mark = '?';
        const names = Object.keys(params);
        for (let i = 0; i < names.length; i += 1) {
            const value = params[names[i]];
            const start = encode(names[i]) + '=';
            if (Array.isArray(value)) {
                for (const item of value) { text += mark + start + textOf(item); mark = '&'; }
            } else {
                text += mark + start + textOf(value);
                mark = '&';
            }
        }
        return uri.hash === undefined ? text : text + '#' + uri.hash;
    },
    toString() { return this.format(); },
    toJSON() { return this.format(); },
});
MutableURI.MutableURI = MutableURI;
module.exports = MutableURI;
