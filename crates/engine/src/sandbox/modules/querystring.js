// The legacy query string functions.
'use strict';

exports.escape = function (text) { return encodeURIComponent(String(text).toWellFormed()); };
exports.unescape = function (text) {
    try { return decodeURIComponent(text); } catch (error) { return text; }
};

function scalar(value) {
    switch (typeof value) {
    case 'string': return value;
    case 'boolean': return value ? 'true' : 'false';
    case 'number': return isFinite(value) ? String(value) : '';
    default: return '';
    }
}

exports.stringify = exports.encode = function (object, separator, equals, options) {
    separator = separator || '&';
    equals = equals || '=';
    if (object === null || typeof object !== 'object') { return ''; }
    const escape = options && options.encodeURIComponent || exports.escape;
    const pairs = [];
    for (const name of Object.keys(object)) {
        const value = object[name];
        for (const item of Array.isArray(value) ? value : [value]) { pairs.push(escape(name) + equals + escape(scalar(item))); }
    }
    return pairs.join(separator);
};

exports.parse = exports.decode = function (text, separator, equals, options) {
    const result = {};
    if (typeof text !== 'string' || text === '') { return result; }
    equals = equals || '=';
    let pairs = text.split(separator || '&');
    const pairsMax = options && typeof options.maxKeys === 'number' ? options.maxKeys : 1000;
    if (pairsMax > 0) { pairs = pairs.slice(0, pairsMax); }
    const decode = (part) => exports.unescape(part.replace(/\+/g, ' '));
    for (const pair of pairs) {
        if (pair === '') { continue; }
        const at = pair.indexOf(equals);
        const name = decode(at < 0 ? pair : pair.slice(0, at));
        const value = at < 0 ? '' : decode(pair.slice(at + equals.length));
        if (!Object.hasOwn(result, name)) {
            Object.defineProperty(result, name, { value, enumerable: true, writable: true, configurable: true });
        } else if (Array.isArray(result[name])) {
            result[name].push(value);
        } else {
            result[name] = [result[name], value];
        }
    }
    return result;
};
