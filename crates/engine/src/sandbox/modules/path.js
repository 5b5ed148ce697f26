// Paths with `/`, as `path` of a POSIX system.
'use strict';

exports.sep = '/';
exports.delimiter = ':';

exports.normalize = function (path) {
    path = String(path);
    const isAbsolute = path.startsWith('/');
    const parts = [];
    for (const part of path.split('/')) {
        if (part === '' || part === '.') { continue; }
        if (part !== '..') { parts.push(part); continue; }
        if (parts.length && parts[parts.length - 1] !== '..') { parts.pop(); } else if (!isAbsolute) { parts.push('..'); }
    }
    const joined = parts.join('/');
    const tail = path.endsWith('/') && joined ? '/' : '';
    return (isAbsolute ? '/' : '') + joined + tail || '.';
};
exports.join = function (...parts) {
    return exports.normalize(parts.filter((part) => part !== '').join('/') || '.');
};
exports.resolve = function (...parts) {
    let path = '';
    for (const part of parts.reverse()) {
        if (part === '') { continue; }
        path = part + (path ? '/' + path : '');
        if (part.startsWith('/')) { break; }
    }
    const whole = exports.normalize(path.startsWith('/') ? path : '/' + path);
    return whole.length > 1 ? whole.replace(/\/$/, '') : whole;
};
exports.isAbsolute = function (path) { return path.startsWith('/'); };
exports.dirname = function (path) {
    const trimmed = path.replace(/\/+$/, '');
    const at = trimmed.lastIndexOf('/');
    return at < 0 ? (path.startsWith('/') ? '/' : '.') : trimmed.slice(0, at).replace(/\/+$/, '') || '/';
};
exports.basename = function (path, extension) {
    const name = path.replace(/\/+$/, '').replace(/^.*\//, '');
    return extension && name !== extension && name.endsWith(extension) ? name.slice(0, -extension.length) : name;
};
exports.extname = function (path) {
    const name = exports.basename(path);
    const at = name.lastIndexOf('.');
    return at > 0 ? name.slice(at) : '';
};
exports.relative = function (from, to) {
    const a = exports.resolve(from).split('/').filter(Boolean);
    const b = exports.resolve(to).split('/').filter(Boolean);
    let same = 0;
    while (same < a.length && same < b.length && a[same] === b[same]) { same += 1; }
    return [...a.slice(same).map(() => '..'), ...b.slice(same)].join('/');
};
exports.posix = exports;
