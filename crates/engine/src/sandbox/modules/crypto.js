// Digests and random bytes; the work is done by the host.
'use strict';

const { Buffer } = require('buffer');
const NAMES = ['md5', 'sha1', 'sha256', 'sha512'];

function Digest(algorithm, key) {
    this._algorithm = String(algorithm).toLowerCase().replace('-', '');
    if (!NAMES.includes(this._algorithm)) { throw new Error('Digest method not supported: ' + algorithm); }
    this._key = key === undefined ? undefined : bytesOf(key).toString('base64');
    this._parts = [];
}
// Text was taken as bytes of one character each when these functions were young; that reading
// signs non-ASCII text differently from every partner, so text is UTF-8 unless an encoding is named.
function bytesOf(data, encoding) {
    if (typeof data === 'string') { return Buffer.from(data, encoding); }
    return Buffer.from(data);
}
Digest.prototype.update = function (data, encoding) {
    if (!this._parts) { throw new Error('the digest has been taken already'); }
    this._parts.push(bytesOf(data, encoding));
    return this;
};
Digest.prototype.digest = function (encoding) {
    if (!this._parts) { throw new Error('the digest has been taken already'); }
    const bytes = host.digest(this._algorithm, Buffer.concat(this._parts).toString('base64'), this._key);
    this._parts = null;
    const buffer = Buffer.fromHost(bytes);
    return encoding && encoding !== 'buffer' ? buffer.toString(encoding) : buffer;
};

exports.createHash = function (algorithm) { return new Digest(algorithm); };
exports.createHmac = function (algorithm, key) {
    if (key === undefined || key === null) { throw new TypeError('an HMAC needs a key'); }
    return new Digest(algorithm, key);
};
exports.getHashes = function () { return NAMES.slice(); };
exports.randomBytes = exports.pseudoRandomBytes = function (size, callback) {
    const bytes = Buffer.fromHost(host.random(size));
    if (typeof callback !== 'function') { return bytes; }
    setTimeout(callback, 0, null, bytes);
};
