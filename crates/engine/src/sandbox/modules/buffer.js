// `Buffer`: bytes with text codings. An instance is a Uint8Array with this prototype, so indexes,
// `length` and typed array methods work; `slice` shares memory as it always did for buffers.
'use strict';

const bytesToBase64 = Uint8Array.prototype.toBase64;
const bytesToHex = Uint8Array.prototype.toHex;
const subarray = Uint8Array.prototype.subarray;

function Buffer(subject, encoding, length) {
    if (typeof subject === 'number') { return Buffer.alloc(subject); }
    return Buffer.from(subject, encoding, length);
}
Buffer.prototype = Object.create(Uint8Array.prototype, {
    constructor: { value: Buffer, writable: true, configurable: true },
});
Buffer.poolSize = 8192;

function adopt(bytes) { return Object.setPrototypeOf(bytes, Buffer.prototype); }

function codingOf(encoding) {
    switch (String(encoding === undefined || encoding === null || encoding === '' ? 'utf8' : encoding).toLowerCase()) {
    case 'utf8': case 'utf-8': return 'utf8';
    case 'ascii': return 'ascii';
    case 'latin1': case 'binary': return 'latin1';
    case 'base64': case 'base64url': return 'base64';
    case 'hex': return 'hex';
    case 'ucs2': case 'ucs-2': case 'utf16le': case 'utf-16le': return 'ucs2';
    default: throw new TypeError('Unknown encoding: ' + encoding);
    }
}

function encoded(text, encoding) {
    const coding = codingOf(encoding);
    // Seven-bit text is written as its low bytes, as for latin1.
    return host.encode(text.toWellFormed(), coding === 'ascii' ? 'latin1' : coding);
}

function decoded(bytes, encoding) {
    const coding = codingOf(encoding);
    if (coding === 'base64') { return bytesToBase64.call(bytes); }
    if (coding === 'hex') { return bytesToHex.call(bytes); }
    return host.decode(bytesToBase64.call(bytes), coding);
}

Buffer.alloc = function (size, fill, encoding) {
    if (typeof size !== 'number' || !(size >= 0)) { throw new RangeError('the size of a buffer must be a number that is not negative'); }
    const buffer = adopt(new Uint8Array(Math.floor(size)));
    return fill === undefined ? buffer : buffer.fill(fill, 0, buffer.length, encoding);
};
Buffer.allocUnsafe = Buffer.allocUnsafeSlow = function (size) { return Buffer.alloc(size); };

Buffer.from = function (subject, encoding, length) {
    if (typeof subject === 'string' || subject instanceof String) { return adopt(encoded(String(subject), encoding)); }
    if (subject instanceof ArrayBuffer) { return adopt(new Uint8Array(subject, encoding || 0, length)); }
    if (subject !== null && typeof subject === 'object') {
        if (subject.type === 'Buffer' && Array.isArray(subject.data)) { return Buffer.from(subject.data); }
        if (typeof subject.length === 'number') {
            const bytes = new Uint8Array(subject.length);
            for (let i = 0; i < bytes.length; i += 1) { bytes[i] = subject[i]; }
            return adopt(bytes);
        }
    }
    throw new TypeError('a buffer is made of a size, text, bytes or an array');
};

// Bytes that the host has just made and that nobody else refers to.
Buffer.fromHost = adopt;

Buffer.isBuffer = function (value) { return value instanceof Buffer; };
Buffer.isEncoding = function (name) {
    try { codingOf(name); return typeof name === 'string'; } catch (error) { return false; }
};
Buffer.byteLength = function (text, encoding) {
    if (typeof text !== 'string') { return text.length; }
    return encoded(text, encoding).length;
};
Buffer.concat = function (list, total) {
    if (!Array.isArray(list)) { throw new TypeError('Buffer.concat needs an array of buffers'); }
    let length = 0;
    for (const part of list) { length += part.length; }
    if (total === undefined) { total = length; }
    const result = Buffer.alloc(total);
    let at = 0;
    for (const part of list) {
        if (at >= total) { break; }
        const piece = part.length > total - at ? subarray.call(part, 0, total - at) : part;
        result.set(piece, at);
        at += piece.length;
    }
    return result;
};
Buffer.compare = function (a, b) {
    const length = Math.min(a.length, b.length);
    for (let i = 0; i < length; i += 1) {
        if (a[i] !== b[i]) { return a[i] < b[i] ? -1 : 1; }
    }
    return a.length === b.length ? 0 : a.length < b.length ? -1 : 1;
};

function clamp(value, fallback, length) {
    if (value === undefined || value === null) { return fallback; }
    value = Math.trunc(Number(value)) || 0;
    if (value < 0) { value += length; }
    return Math.min(Math.max(value, 0), length);
}

const methods = {
    toString(encoding, start, end) {
        const from = clamp(start, 0, this.length);
        const to = clamp(end, this.length, this.length);
        return decoded(from === 0 && to === this.length ? this : subarray.call(this, from, Math.max(from, to)), encoding);
    },
    toLocaleString(encoding) { return this.toString(encoding); },
    toJSON() { return { type: 'Buffer', data: Array.from(this) }; },
    slice(start, end) {
        const from = clamp(start, 0, this.length);
        return adopt(new Uint8Array(this.buffer, this.byteOffset + from, Math.max(0, clamp(end, this.length, this.length) - from)));
    },
    copy(target, targetStart, start, end) {
        const at = clamp(targetStart, 0, target.length);
        const from = clamp(start, 0, this.length);
        const count = Math.min(Math.max(0, clamp(end, this.length, this.length) - from), target.length - at);
        target.set(subarray.call(this, from, from + count), at);
        return count;
    },
    // write(text), write(text, encoding), write(text, offset[, length][, encoding]), and the order
    // write(text, encoding, offset, length) of old.
    write(text, ...rest) {
        let encoding;
        const at = rest.findIndex((argument) => typeof argument === 'string');
        if (at >= 0) { encoding = rest.splice(at, 1)[0]; }
        const offset = clamp(rest[0], 0, this.length);
        const room = this.length - offset;
        let bytes = encoded(String(text), encoding);
        let count = Math.min(rest[1] === undefined ? room : Number(rest[1]) || 0, room, bytes.length);
        // No half characters.
        if (codingOf(encoding) === 'utf8') {
            while (count > 0 && count < bytes.length && (bytes[count] & 0xc0) === 0x80) { count -= 1; }
        }
        this.set(subarray.call(bytes, 0, count), offset);
        return count;
    },
    equals(other) { return Buffer.compare(this, other) === 0; },
    compare(other) { return Buffer.compare(this, other); },
    fill(value, start, end, encoding) {
        if (typeof start === 'string') { encoding = start; start = undefined; }
        const from = clamp(start, 0, this.length);
        const to = clamp(end, this.length, this.length);
        if (typeof value === 'string') {
            const pattern = encoded(value, encoding);
            for (let i = from; i < to; i += 1) { this[i] = pattern.length ? pattern[(i - from) % pattern.length] : 0; }
            return this;
        }
        Uint8Array.prototype.fill.call(this, Number(value) || 0, from, to);
        return this;
    },
    indexOf(value, start, encoding) {
        if (typeof value === 'number') { return Uint8Array.prototype.indexOf.call(this, value & 255, start); }
        // In the one-byte coding, positions of characters are positions of bytes.
        const pattern = decoded(typeof value === 'string' ? encoded(value, encoding) : value, 'latin1');
        return decoded(this, 'latin1').indexOf(pattern, clamp(start, 0, this.length));
    },
    includes(value, start, encoding) { return this.indexOf(value, start, encoding) >= 0; },
    inspect() { return '<Buffer ' + bytesToHex.call(subarray.call(this, 0, 50)).replace(/(..)(?=.)/g, '$1 ') + (this.length > 50 ? ' ...' : '') + '>'; },
};

// readUInt16BE, writeInt32LE, readDoubleLE and so on: [name, DataView suffix, size].
for (const [name, suffix, size] of [['UInt8', 'Uint8', 1], ['Int8', 'Int8', 1], ['UInt16', 'Uint16', 2], ['Int16', 'Int16', 2],
    ['UInt32', 'Uint32', 4], ['Int32', 'Int32', 4], ['Float', 'Float32', 4], ['Double', 'Float64', 8]]) {
    const read = DataView.prototype['get' + suffix];
    const write = DataView.prototype['set' + suffix];
    for (const order of size === 1 ? [''] : ['BE', 'LE']) {
        const view = (buffer, offset) => {
            if (!(offset >= 0) || offset + size > buffer.length) { throw new RangeError('Trying to access beyond buffer length'); }
            return new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
        };
        methods['read' + name + order] = function (offset) {
            offset = offset || 0;
            return read.call(view(this, offset), offset, order === 'LE');
        };
        methods['write' + name + order] = function (value, offset) {
            offset = offset || 0;
            write.call(view(this, offset), offset, value, order === 'LE');
            return offset + size;
        };
    }
}
for (const name of Object.keys(methods)) {
    Object.defineProperty(Buffer.prototype, name, { value: methods[name], writable: true, configurable: true });
}

exports.Buffer = Buffer;
exports.SlowBuffer = Buffer;
exports.INSPECT_MAX_BYTES = 50;
