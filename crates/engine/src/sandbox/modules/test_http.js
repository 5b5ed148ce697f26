// `http` for hooks of tests: servers on loopback, whose requests the host hands over one after the other.
'use strict';

const { Emitter, Readable, later, partial, bytesOf } = require('qlio-test-streams');
const { Buffer } = require('buffer');

// Above 65535 it is for the host to say which port is meant.
const PORT_MAX = 4294967295;
const ANSWER_BYTES_MAX = 8 << 20;
const toBase64 = Uint8Array.prototype.toBase64;

// Servers that listen, by the host's number.
const servers = new Map();

class IncomingMessage extends Readable {
    constructor({ method, url, headers, body }) {
        super(Buffer.from(body, 'base64'));
        this.method = method;
        this.url = url;
        this.headers = headers;
        this.httpVersion = '1.1';
    }
}

class ServerResponse extends Emitter {
    #headers = new Map();
    #pieces = [];
    #length = 0;
    #answer;
    #isHead;
    statusCode = 200;
    finished = false;
    headersSent = false;
    writable = true;
    constructor(request, answer) {
        super();
        this.#isHead = request.method === 'HEAD';
        this.#answer = answer;
    }
    setHeader(name, value) {
        if (this.headersSent) { throw new Error('the headers have been sent already'); }
        this.#headers.set(String(name).toLowerCase(), [String(name), Array.isArray(value) ? value.map(String) : [String(value)]]);
        return this;
    }
    getHeader(name) {
        const found = this.#headers.get(String(name).toLowerCase());
        return found === undefined ? undefined : found[1].join(', ');
    }
    removeHeader(name) { this.#headers.delete(String(name).toLowerCase()); return this; }
    // The words of the status may stand between the two.
    writeHead(status, ...rest) {
        const headers = rest.find((value) => value !== null && typeof value === 'object') ?? {};
        for (const name of Object.keys(headers)) { this.setHeader(name, headers[name]); }
        this.statusCode = status;
        this.headersSent = true;
        return this;
    }
    write(piece, encoding) {
        if (this.finished) { throw new Error('the answer has ended already'); }
        const bytes = bytesOf(piece, encoding);
        this.#length += bytes.length;
        if (this.#length > ANSWER_BYTES_MAX) { throw new RangeError('an answer of a server of hooks has at most ' + ANSWER_BYTES_MAX + ' bytes'); }
        this.headersSent = true;
        this.#pieces.push(bytes);
        return true;
    }
    // Ending twice is harmless: what pumps a stream into an answer may have ended it.
    end(piece, encoding) {
        if (this.finished) { return this; }
        if (piece !== undefined && piece !== null && typeof piece !== 'function') { this.write(piece, encoding); }
        this.finished = true;
        this.headersSent = true;
        this.writable = false;
        this.#checkLength();
        const headers = [];
        for (const [name, values] of this.#headers.values()) { for (const value of values) { headers.push([name, value]); } }
        this.#answer({ status: Number(this.statusCode), headers, body: toBase64.call(Buffer.concat(this.#pieces)) });
        later(() => { this.emit('finish'); this.emit('close'); });
        return this;
    }
    #checkLength() {
        const declared = this.getHeader('content-length');
        if (declared !== undefined && !this.#isHead && Number(declared) !== this.#length) {
            throw new Error('the answer says that its content-length is ' + declared + ', but it has ' + this.#length + ' bytes');
        }
    }
}

class Server extends Emitter {
    #id;
    #port;
    #Response;
    constructor(handler, Response) {
        super();
        this.#Response = Response ?? ServerResponse;
        if (handler !== undefined) { this.on('request', handler); }
    }
    listen(port, ...rest) {
        if (this.#id !== undefined) { throw new Error('the server listens already'); }
        const wanted = Number(port);
        if (!Number.isInteger(wanted) || wanted < 0) { throw new TypeError('a server of hooks listens on the number of a port, not on `' + port + '`'); }
        if (wanted > PORT_MAX) { throw new RangeError('there is no port ' + wanted); }
        const callback = rest.find((value) => typeof value === 'function');
        const [id, bound] = host.listen(wanted);
        this.#id = id;
        this.#port = bound;
        servers.set(id, this);
        later(() => {
            this.emit('listening');
            if (callback) { callback.call(this); }
        });
        return this;
    }
    address() {
        return this.#id === undefined ? null : { address: '127.0.0.1', family: 'IPv4', port: this.#port };
    }
    close(callback) {
        if (this.#id === undefined) { throw new Error('the server does not listen'); }
        host.closeServer(this.#id);
        servers.delete(this.#id);
        this.#id = undefined;
        later(() => {
            this.emit('close');
            if (typeof callback === 'function') { callback.call(this); }
        });
        return this;
    }
    answer(asked) {
        return new Promise((resolve, reject) => {
            const request = new IncomingMessage(asked);
            const response = new this.#Response(request, resolve);
            for (const handler of this.listeners('request')) {
                const result = handler.call(this, request, response);
                if (result !== null && typeof result === 'object' && typeof result.then === 'function') {
                    result.then(undefined, reject);
                }
            }
            later(() => request.flow());
        });
    }
}

// Answers a request to a server, whose number the host knows.
function answer(id, asked) {
    const server = servers.get(id);
    if (server === undefined) { throw new Error('the hooks had to be started anew, and with them their servers were lost'); }
    return server.answer(asked);
}

module.exports = partial('http', { createServer: (handler) => new Server(handler) });
for (const [name, value] of Object.entries({ answer, Server, ServerResponse })) {
    Object.defineProperty(module.exports, name, { value });
}
