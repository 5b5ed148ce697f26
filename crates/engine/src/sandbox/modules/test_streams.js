// Events and streams for servers and files of hooks of tests. Everything is there at once, so a stream is
// one piece, handed over when the current work is done.
'use strict';

const { setTimeout } = globalThis;
const { Buffer } = require('buffer');

const LISTENERS_MAX = 100;

function later(work) { setTimeout(work, 0); }

class Emitter {
    #listeners = new Map();
    on(name, listener) {
        if (typeof listener !== 'function') { throw new TypeError('the listener of `' + name + '` must be a function'); }
        const known = this.listeners(name);
        if (known.length >= LISTENERS_MAX) { throw new RangeError('no more than ' + LISTENERS_MAX + ' listeners of `' + name + '`'); }
        this.#listeners.set(name, [...known, listener]);
        return this;
    }
    addListener(name, listener) { return this.on(name, listener); }
    once(name, listener) {
        const once = (...values) => { this.removeListener(name, once); listener.apply(this, values); };
        return this.on(name, once);
    }
    removeListener(name, listener) {
        this.#listeners.set(name, this.listeners(name).filter((known) => known !== listener));
        return this;
    }
    removeAllListeners(name) {
        if (name === undefined) { this.#listeners.clear(); } else { this.#listeners.delete(name); }
        return this;
    }
    listeners(name) { return this.#listeners.get(name) ?? []; }
    emit(name, ...values) {
        const listeners = this.listeners(name);
        if (name === 'error' && listeners.length === 0) { throw values[0]; }
        for (const listener of listeners) { listener.apply(this, values); }
        return listeners.length > 0;
    }
}

// A stream of these bytes, or of nothing but an error.
class Readable extends Emitter {
    #content;
    #encoding;
    #isPaused = false;
    #isOver = false;
    readable = true;
    constructor(content) { super(); this.#content = content; }
    setEncoding(encoding) { this.#encoding = encoding || 'utf8'; return this; }
    pause() { this.#isPaused = true; return this; }
    resume() { this.#isPaused = false; later(() => this.flow()); return this; }
    destroy() { this.#isOver = true; return this; }
    pipe(target) {
        this.on('data', (piece) => target.write(piece));
        this.on('end', () => target.end());
        return target;
    }
    // Hands everything over, unless that is done or has to wait.
    flow() {
        if (this.#isPaused || this.#isOver) { return; }
        this.#isOver = true;
        this.readable = false;
        if (this.#content instanceof Error) { this.emit('error', this.#content); return; }
        if (this.#content.length > 0) {
            this.emit('data', this.#encoding ? this.#content.toString(this.#encoding) : this.#content);
        }
        this.emit('end');
        this.emit('close');
    }
}

// A module of which a part is here: the rest says so when it is used.
function partial(name, members) {
    return new Proxy(members, {
        get(target, member) {
            if (typeof member === 'symbol' || member === 'then' || member in target) { return target[member]; }
            const known = Object.keys(target).map((key) => '`' + key + '`').join(', ');
            throw new Error('`' + name + '.' + member + '` is not there for hooks of tests, which have ' + known);
        },
    });
}

function bytesOf(piece, encoding) {
    if (typeof piece === 'string' || piece instanceof String) { return Buffer.from(String(piece), encoding); }
    if (piece instanceof Uint8Array) { return piece; }
    throw new TypeError('only text and buffers can be written, not ' + (piece === null ? 'null' : typeof piece));
}

module.exports = { Emitter, Readable, later, partial, bytesOf };
