// Reading files below the table root while a module loads, and nothing else.
'use strict';

function bytesOf(path) {
    if (!kernel.isLoading) { throw new Error('fs is available only while a module loads'); }
    return host.readBytes(String(path));
}

exports.existsSync = function (path) { return bytesOf(path) !== undefined; };

exports.readFileSync = function (path, options) {
    const bytes = bytesOf(path);
    if (bytes === undefined) {
        const error = new Error("ENOENT, no such file or directory '" + path + "'");
        error.code = 'ENOENT';
        throw error;
    }
    const encoding = typeof options === 'string' ? options : options && options.encoding;
    const buffer = require('buffer').Buffer.fromHost(bytes);
    return encoding ? buffer.toString(encoding) : buffer;
};
