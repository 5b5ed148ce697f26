// `express` for hooks of tests, as it was in 2011: a server whose answers can be sent as they are.
'use strict';

const { partial } = require('qlio-test-streams');
const { Server, ServerResponse } = require('qlio-test-http');

class Response extends ServerResponse {
    header(name, value) { return value === undefined ? this.getHeader(name) : this.setHeader(name, value); }
    contentType(type) { return this.setHeader('Content-Type', type); }
    // Text is markup unless the type has been said, a number alone is a status, anything else is JSON.
    send(body, ...rest) {
        for (const value of rest) {
            if (typeof value === 'number') { this.statusCode = value; continue; }
            for (const name of Object.keys(value ?? {})) { this.setHeader(name, value[name]); }
        }
        if (typeof body === 'number' && rest.length === 0) { this.statusCode = body; body = undefined; }
        const isText = typeof body === 'string' || body instanceof String;
        const isBytes = body instanceof Uint8Array;
        if (!isText && !isBytes && body !== undefined && body !== null) { return this.json(body); }
        const type = isBytes ? 'application/octet-stream' : 'text/html; charset=utf-8';
        return this.#finish(type, body ?? '');
    }
    json(body) { return this.#finish('application/json; charset=utf-8', JSON.stringify(body)); }
    #finish(type, content) {
        if (this.getHeader('content-type') === undefined) { this.contentType(type); }
        return this.end(content);
    }
}

// Each of the functions gets `next`, which goes on with the one after it.
function createServer(...functions) {
    return new Server((request, response) => {
        const run = (at) => {
            const next = (error) => { if (error) { throw error; } run(at + 1); };
            if (at < functions.length) { return functions[at](request, response, next); }
            return response.send('Cannot ' + request.method + ' ' + request.url, 404);
        };
        return run(0);
    }, Response);
}

module.exports = partial('express', { createServer });
