// A URI that hooks can change (HOK-6), in the normal form of URI-18. The host takes it apart and puts it
// together; its parameters are an object of the script.
'use strict';

// The text that an object was made of, until somebody looks at its parts: most hooks never do.
const TEXT = Symbol('text');
// What it has been taken apart to: `frame`, all but the query, and `params`.
const PARTS = Symbol('parts');

function MutableURI(text) {
    if (new.target === undefined && !(this instanceof MutableURI)) { return new MutableURI(text); }
    if (text === undefined || text === null || text === '') { throw new Error('a URI must not be empty'); }
    this[TEXT] = typeof text === 'string' ? text : String(text);
    this[PARTS] = undefined;
}

function paramsOf(uri) {
    let parts = uri[PARTS];
    if (parts === undefined) {
        const params = {};
        uri[PARTS] = parts = { frame: host.takeUri(uri[TEXT], params), params };
    }
    return parts.params;
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

Object.assign(MutableURI.prototype, {
    addParam(name, value) {
        check(name, value, true);
        const params = paramsOf(this);
        if (!Array.isArray(value)) { add(params, String(name), value); return this; }
        for (const item of value) { add(params, String(name), item); }
        return this;
    },
    setParam(name, value) {
        check(name, value, true);
        const params = paramsOf(this);
        // It moves behind all others, as if it had been removed and added (HOK-6).
        delete params[name];
        set(params, String(name), Array.isArray(value) ? value.slice() : value);
        return this;
    },
    removeParam(name, value) {
        check(name);
        const params = paramsOf(this);
        if (!own(params, name)) { return this; }
        const held = params[name];
        if (value === undefined || value === null) {
            delete params[name];
        } else if (Array.isArray(held)) {
            const rest = held.filter((item) => String(item) !== String(value));
            if (rest.length === 0) { delete params[name]; } else { params[name] = rest.length === 1 ? rest[0] : rest; }
        } else if (String(held) === String(value)) {
            delete params[name];
        }
        return this;
    },
    getParam(name) { const params = paramsOf(this); return own(params, name) ? params[name] : undefined; },
    params() { return paramsOf(this); },
    removeEmptyParams() {
        const params = paramsOf(this);
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
        const parts = this[PARTS];
        return parts === undefined ? host.normalUri(this[TEXT]) : host.uriText(parts.frame, parts.params);
    },
    toString() { return this.format(); },
    toJSON() { return this.format(); },
});
MutableURI.MutableURI = MutableURI;
module.exports = MutableURI;
