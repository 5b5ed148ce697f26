// TextEncoder and TextDecoder for UTF-8, UTF-16LE and latin1.
'use strict';

const toBase64 = Uint8Array.prototype.toBase64;

exports.TextEncoder = class TextEncoder {
    get encoding() { return 'utf-8'; }
    encode(text) { return host.encode(String(text === undefined ? '' : text).toWellFormed(), 'utf8'); }
};

const CODINGS = {
    'utf-8': 'utf8', 'utf8': 'utf8', 'utf-16le': 'ucs2', 'utf-16': 'ucs2', 'latin1': 'latin1',
    'iso-8859-1': 'latin1', 'ascii': 'latin1', 'us-ascii': 'latin1', 'windows-1252': 'latin1',
};

exports.TextDecoder = class TextDecoder {
    constructor(label, options) {
        const name = String(label === undefined ? 'utf-8' : label).trim().toLowerCase();
        if (!Object.hasOwn(CODINGS, name)) { throw new RangeError('the encoding `' + name + '` is not supported'); }
        this.encoding = name === 'utf8' ? 'utf-8' : name;
        this.fatal = Boolean(options && options.fatal);
        this.ignoreBOM = Boolean(options && options.ignoreBOM);
    }
    decode(input) {
        if (input === undefined) { return ''; }
        const bytes = input instanceof ArrayBuffer ? new Uint8Array(input)
            : new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
        const text = host.decode(toBase64.call(bytes), CODINGS[this.encoding]);
        if (this.fatal && text.includes('\ufffd')) {
            const again = host.encode(text, 'utf8');
            if (this.encoding !== 'utf-8' || toBase64.call(again) !== toBase64.call(bytes)) {
                throw new TypeError('the bytes are not ' + this.encoding);
            }
        }
        return !this.ignoreBOM && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
    }
};
