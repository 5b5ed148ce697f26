// `Schema` of the protobuf module: a compiled descriptor set gives one object per message type,
// with `parse` and `serialize` (the low-level mapping, FMT-34).
'use strict';

const { Buffer } = require('buffer');

exports.Schema = function Schema(descriptor) {
    const { id, names } = host.protobufLoad(Buffer.from(descriptor).toString('base64'));
    for (const name of names) {
        Object.defineProperty(this, name, {
            enumerable: true,
            value: {
                parse(bytes) {
                    if (!(bytes instanceof Uint8Array)) { throw new TypeError('parse needs a buffer'); }
                    return host.protobufDecode(id, name, Uint8Array.prototype.toBase64.call(bytes));
                },
                serialize(value) { return Buffer.fromHost(host.protobufEncode(id, name, value)); },
            },
        });
    }
};
