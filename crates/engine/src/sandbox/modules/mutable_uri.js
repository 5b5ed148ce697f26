// A URI that hooks can change (HOK-6), in the normal form of URI-18. The host takes it apart and puts it
// together; its parameters are an object of the script.
'use strict';

// The text that an object was made of, until somebody looks at its parts: most hooks never do.
const TEXT = Symbol('text');
// What it has been taken apart to: `frame`, all but the query, and `params`.
const PARTS = Symbol('parts');
// What has been done to the parameters before: an operation, a name and a value, in turn. Most hooks set one or two
// and look at none, which the host does to the text.
const EDITS = Symbol('edits');
const EDITS_MAX = 8 * 3;
const SET = 0;
const ADD = 1;

function MutableURI(text) {
    if (new.target === undefined && !(this instanceof MutableURI)) { return new MutableURI(text); }
    if (!text && (text === undefined || text === null || text === '')) { throw new Error('a URI must not be empty'); }
    this[TEXT] = typeof text === 'string' ? text : String(text);
}

function paramsOf(uri) {
    let parts = uri[PARTS];
    if (parts === undefined) {
        const params = {};
        uri[PARTS] = parts = { frame: host.takeUri(uri[TEXT], params), params };
        const edits = uri[EDITS] || [];
        for (let i = 0; i < edits.length; i += 3) { operations[edits[i]](params, edits[i + 1], edits[i + 2]); }
    }
    return parts.params;
}

// Objects are for the script's own parameters; all else prints the same whoever does it.
function edit(uri, operation, name, value) {
    if (!name || value === undefined || value === null) { check(name, value, true); }
    const text = typeof name === 'string' ? name : String(name);
    const edits = uri[EDITS];
    if (uri[PARTS] !== undefined || typeof value === 'object') {
        operations[operation](paramsOf(uri), text, value);
    } else if (edits === undefined) {
        uri[EDITS] = [operation, text, value];
    } else if (edits.length < EDITS_MAX) {
        edits.push(operation, text, value);
    } else {
        operations[operation](paramsOf(uri), text, value);
    }
    return uri;
}

const { isArray } = Array;
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
    } else if (isArray(params[name])) {
        params[name].push(value);
    } else {
        set(params, name, [params[name], value]);
    }
}

// It moves behind all others, as if it had been removed and added (HOK-6).
function replace(params, name, value) {
    delete params[name];
    set(params, name, value);
}

const operations = [replace, add];

function check(name, value, hasValue) {
    if (name === undefined || name === null || name === '') { throw new Error('a parameter needs a name'); }
    if (hasValue && (value === undefined || value === null)) {
        throw new Error('the parameter `' + name + '` needs a value');
    }
}

Object.assign(MutableURI.prototype, {
    addParam(name, value) {
        if (!isArray(value)) { return edit(this, ADD, name, value); }
        check(name, value, true);
        for (const item of value) { add(paramsOf(this), String(name), item); }
        return this;
    },
    setParam(name, value) {
        return edit(this, SET, name, typeof value === 'object' && isArray(value) ? value.slice() : value);
    },
    removeParam(name, value) {
        check(name);
        const params = paramsOf(this);
        if (!own(params, name)) { return this; }
        const held = params[name];
        if (value === undefined || value === null) {
            delete params[name];
        } else if (isArray(held)) {
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
            } else if (isArray(held)) {
                const rest = held.filter((item) => item !== '');
                if (rest.length === 0) { delete params[name]; } else if (rest.length < held.length) { params[name] = rest; }
            }
        }
        return this;
    },
    format() {
        const parts = this[PARTS];
        return parts === undefined ? host.editedUri(this[TEXT], this[EDITS]) : host.uriText(parts.frame, parts.params);
    },
    toString() { return this.format(); },
    toJSON() { return this.format(); },
});
MutableURI.MutableURI = MutableURI;
module.exports = MutableURI;
