// `inspect`, `format`, `inherits` and the type tests of `util` (and of `sys`, its old name).
'use strict';

const DEPTH = 2;

exports.inspect = function (value, options) {
    let depth = DEPTH;
    if (options && typeof options === 'object' && 'depth' in options) { depth = options.depth; } else if (arguments.length > 2) { depth = arguments[2]; }
    return show(value, depth === null || depth === Infinity ? 100 : depth, []);
};

function show(value, depth, parents) {
    switch (typeof value) {
    case 'string': return "'" + value.replace(/\\/g, '\\\\').replace(/'/g, "\\'").replace(/\n/g, '\\n') + "'";
    case 'function': return value.name ? '[Function: ' + value.name + ']' : '[Function]';
    case 'symbol': return value.toString();
    case 'bigint': return value + 'n';
    case 'number': return Object.is(value, -0) ? '-0' : String(value);
    default:
    }
    if (value === null || typeof value !== 'object') { return String(value); }
    if (value instanceof Error) { return '[' + (value.name || 'Error') + (value.message ? ': ' + value.message : '') + ']'; }
    if (value instanceof Date) { return isNaN(value) ? 'Invalid Date' : value.toISOString(); }
    if (value instanceof RegExp) { return String(value); }
    if (typeof value.inspect === 'function' && value instanceof Uint8Array) { return value.inspect(); }
    if (parents.includes(value)) { return '[Circular]'; }
    const isArray = Array.isArray(value);
    if (depth < 0) { return isArray ? '[Array]' : '[Object]'; }
    const inside = parents.concat([value]);
    const parts = [];
    for (const name of Object.keys(value)) {
        if (parts.length >= 1000) { parts.push('...'); break; }
        const text = show(value[name], depth - 1, inside);
        if (isArray && /^\d+$/.test(name)) { parts.push(text); } else { parts.push((/^[A-Za-z_$][\w$]*$/.test(name) ? name : "'" + name + "'") + ': ' + text); }
    }
    const [open, close] = isArray ? ['[', ']'] : ['{', '}'];
    if (parts.length === 0) { return open + close; }
    const line = open + ' ' + parts.join(', ') + ' ' + close;
    return line.length <= 72 ? line : open + ' ' + parts.join(',\n  ') + ' ' + close;
}

exports.format = function (pattern, ...rest) {
    let used = 0;
    let text;
    if (typeof pattern === 'string') {
        text = pattern.replace(/%[sdifjoO%]/g, (mark) => {
            if (mark === '%%') { return '%'; }
            if (used >= rest.length) { return mark; }
            const value = rest[used];
            used += 1;
            switch (mark) {
            case '%s': return typeof value === 'object' && value !== null ? exports.inspect(value) : String(value);
            case '%d': case '%f': return String(Number(value));
            case '%i': return String(parseInt(value, 10));
            case '%j': try { return JSON.stringify(value); } catch (error) { return '[Circular]'; }
            default: return exports.inspect(value);
            }
        });
    } else {
        text = arguments.length ? exports.inspect(pattern) : '';
    }
    for (const value of rest.slice(used)) { text += ' ' + (typeof value === 'string' ? value : exports.inspect(value)); }
    return text;
};

exports.inherits = function (constructor, parent) {
    Object.defineProperty(constructor, 'super_', { value: parent, writable: true, configurable: true });
    Object.setPrototypeOf(constructor.prototype, parent.prototype);
};
exports.isArray = Array.isArray;
exports.isDate = (value) => value instanceof Date;
exports.isRegExp = (value) => value instanceof RegExp;
exports.isError = (value) => value instanceof Error;
exports.log = exports.puts = exports.print = exports.debug = exports.error = function () {
    host.log('info', exports.format.apply(null, arguments));
};
exports.deprecate = (work) => work;
