// `fs` for hooks of tests: the files of the folder of the tests, as they were when the tests were loaded.
'use strict';

const { Readable, later, partial } = require('qlio-test-streams');
const { Buffer } = require('buffer');

function missing(path) {
    const error = new Error("ENOENT, no such file or directory '" + path + "'");
    error.code = 'ENOENT';
    return error;
}
function read(path) {
    const bytes = host.readBytes(String(path));
    if (bytes === undefined) { throw missing(path); }
    return Buffer.fromHost(bytes);
}
function existsSync(path) { return host.readBytes(String(path)) !== undefined; }
function statSync(path) {
    const size = read(path).length;
    return { size, isFile: () => true, isDirectory: () => false };
}
function readFileSync(path, options) {
    const encoding = typeof options === 'string' ? options : options && options.encoding;
    return encoding ? read(path).toString(encoding) : read(path);
}
function readFile(path, ...rest) {
    const callback = rest.pop();
    if (typeof callback !== 'function') { throw new TypeError('`fs.readFile` needs a callback'); }
    later(() => {
        let content;
        try { content = readFileSync(path, rest[0]); } catch (error) { callback(error); return; }
        callback(null, content);
    });
}
function createReadStream(path, options) {
    let content;
    try { content = read(path); } catch (error) { content = error; }
    const stream = new Readable(content);
    const encoding = typeof options === 'string' ? options : options && options.encoding;
    if (encoding) { stream.setEncoding(encoding); }
    later(() => stream.flow());
    return stream;
}

module.exports = partial('fs', { statSync, existsSync, readFileSync, readFile, createReadStream });
