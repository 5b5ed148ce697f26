// The commonly used functions of underscore 1.x; `_(value)` and chains included.
'use strict';

function _(value) {
    if (value instanceof _) { return value; }
    if (!(this instanceof _)) { return new _(value); }
    this._wrapped = value;
}
module.exports = _;
_._ = _;
_.VERSION = '1.4.4';

const identity = (value) => value;
const isListLike = (value) => value !== null && value !== undefined && typeof value !== 'function' && typeof value.length === 'number';
const listOf = (value) => (value === null || value === undefined ? [] : isListLike(value) ? Array.from(value) : _.values(value));
function iteratee(by, context) {
    if (by === null || by === undefined) { return identity; }
    if (typeof by === 'function') { return context === undefined ? by : by.bind(context); }
    if (typeof by === 'object') { return _.matches(by); }
    return (value) => (value === null || value === undefined ? undefined : value[by]);
}

const functions = {
    each(list, work, context) {
        if (list === null || list === undefined) { return list; }
        if (isListLike(list)) {
            for (let i = 0; i < list.length; i += 1) { if (i in Object(list)) { work.call(context, list[i], i, list); } }
        } else {
            for (const name of _.keys(list)) { work.call(context, list[name], name, list); }
        }
        return list;
    },
    map(list, by, context) {
        const out = [];
        const f = iteratee(by, context);
        _.each(list, (value, at) => { out.push(f(value, at, list)); });
        return out;
    },
    reduce(list, work, memo, context) {
        let has = arguments.length > 2;
        _.each(list, (value, at) => {
            if (has) { memo = work.call(context, memo, value, at, list); } else { memo = value; has = true; }
        });
        if (!has) { throw new TypeError('Reduce of empty array with no initial value'); }
        return memo;
    },
    reduceRight(list, work, ...rest) { return _.reduce(listOf(list).reverse(), work, ...rest); },
    find(list, by, context) {
        const f = iteratee(by, context);
        if (isListLike(list)) { return Array.prototype.find.call(list, (value, at) => f(value, at, list)); }
        const name = _.keys(list).find((key) => f(list[key], key, list));
        return name === undefined ? undefined : list[name];
    },
    filter(list, by, context) {
        const out = [];
        const f = iteratee(by, context);
        _.each(list, (value, at) => { if (f(value, at, list)) { out.push(value); } });
        return out;
    },
    reject(list, by, context) {
        const f = iteratee(by, context);
        return _.filter(list, (value, at) => !f(value, at, list));
    },
    every(list, by, context) { const f = iteratee(by, context); return listOf(list).every((value, at) => Boolean(f(value, at, list))); },
    some(list, by, context) { const f = iteratee(by, context); return listOf(list).some((value, at) => Boolean(f(value, at, list))); },
    contains(list, value) { return listOf(list).indexOf(value) >= 0; },
    invoke(list, method, ...args) { return _.map(list, (value) => (typeof method === 'function' ? method : value[method]).apply(value, args)); },
    pluck(list, name) { return _.map(list, (value) => (value === null || value === undefined ? undefined : value[name])); },
    where(list, properties) { return _.filter(list, _.matches(properties)); },
    findWhere(list, properties) { return _.find(list, _.matches(properties)); },
    max(list, by, context) { return extreme(list, by, context, (a, b) => a > b, -Infinity); },
    min(list, by, context) { return extreme(list, by, context, (a, b) => a < b, Infinity); },
    sortBy(list, by, context) {
        const f = iteratee(by, context);
        return listOf(list).map((value, at) => ({ value, at, rank: f(value, at, list) })).sort((a, b) => {
            if (a.rank !== b.rank) {
                if (a.rank > b.rank || a.rank === undefined) { return 1; }
                if (a.rank < b.rank || b.rank === undefined) { return -1; }
            }
            return a.at - b.at;
        }).map((entry) => entry.value);
    },
    groupBy(list, by, context) { return grouped(list, by, context, (out, key, value) => { if (Object.hasOwn(out, key)) { out[key].push(value); } else { out[key] = [value]; } }); },
    indexBy(list, by, context) { return grouped(list, by, context, (out, key, value) => { out[key] = value; }); },
    countBy(list, by, context) { return grouped(list, by, context, (out, key) => { out[key] = Object.hasOwn(out, key) ? out[key] + 1 : 1; }); },
    shuffle(list) {
        const out = listOf(list);
        for (let i = out.length - 1; i > 0; i -= 1) {
            const j = Math.floor(Math.random() * (i + 1));
            [out[i], out[j]] = [out[j], out[i]];
        }
        return out;
    },
    toArray: listOf,
    size(value) { return value === null || value === undefined ? 0 : isListLike(value) ? value.length : _.keys(value).length; },
    partition(list, by, context) { return [_.filter(list, by, context), _.reject(list, by, context)]; },

    first(list, count) { return list === null || list === undefined ? undefined : count === undefined ? list[0] : Array.prototype.slice.call(list, 0, Math.max(0, count)); },
    initial(list, count) { return Array.prototype.slice.call(list, 0, Math.max(0, list.length - (count === undefined ? 1 : count))); },
    last(list, count) { return list === null || list === undefined ? undefined : count === undefined ? list[list.length - 1] : Array.prototype.slice.call(list, Math.max(0, list.length - count)); },
    rest(list, from) { return Array.prototype.slice.call(list, from === undefined ? 1 : from); },
    compact(list) { return _.filter(list, identity); },
    flatten(list, isShallow) { return listOf(list).flat(isShallow ? 1 : 100); },
    without(list, ...values) { return _.difference(list, values); },
    uniq(list, isSorted, by, context) {
        if (typeof isSorted !== 'boolean') { context = by; by = isSorted; }
        const f = iteratee(by, context);
        const seen = new Set();
        return listOf(list).filter((value, at) => {
            const key = f(value, at, list);
            return !seen.has(key) && Boolean(seen.add(key));
        });
    },
    union(...lists) { return _.uniq(lists.flat(1)); },
    intersection(list, ...others) { return _.uniq(list).filter((value) => others.every((other) => other.indexOf(value) >= 0)); },
    difference(list, ...others) { const gone = new Set(others.flat(1)); return listOf(list).filter((value) => !gone.has(value)); },
    zip(...lists) { return _.range(lists.reduce((most, list) => Math.max(most, list.length), 0)).map((i) => lists.map((list) => list[i])); },
    object(names, values) { const out = {}; listOf(names).forEach((name, i) => { if (values) { out[name] = values[i]; } else { out[name[0]] = name[1]; } }); return out; },
    indexOf(list, value) { return list === null || list === undefined ? -1 : Array.prototype.indexOf.call(list, value); },
    lastIndexOf(list, value) { return list === null || list === undefined ? -1 : Array.prototype.lastIndexOf.call(list, value); },
    findIndex(list, by, context) { return listOf(list).findIndex(iteratee(by, context)); },
    range(start, stop, step) {
        if (stop === undefined) { stop = start || 0; start = 0; }
        step = step || 1;
        const out = [];
        for (let value = start; step > 0 ? value < stop : value > stop; value += step) { out.push(value); }
        return out;
    },

    bind(work, context, ...args) { return work.bind(context, ...args); },
    bindAll(object, ...names) { for (const name of names.flat()) { object[name] = object[name].bind(object); } return object; },
    partial(work, ...args) { return function (...rest) { return work.apply(this, args.concat(rest)); }; },
    memoize(work, hasher) {
        const memo = new Map();
        return function (...args) {
            const key = (hasher || identity).apply(this, args);
            if (!memo.has(key)) { memo.set(key, work.apply(this, args)); }
            return memo.get(key);
        };
    },
    delay(work, wait, ...args) { return setTimeout(work, wait, ...args); },
    defer(work, ...args) { return setTimeout(work, 1, ...args); },
    once(work) { let is = false; let value; return function (...args) { if (!is) { is = true; value = work.apply(this, args); } return value; }; },
    after(count, work) { return function (...args) { count -= 1; return count < 1 ? work.apply(this, args) : undefined; }; },
    wrap(work, wrapper) { return _.partial(wrapper, work); },
    compose(...works) { return function (...args) { return works.reduceRight((values, work) => [work.apply(this, values)], args)[0]; }; },

    keys(object) { return object === null || object === undefined ? [] : Object.keys(object); },
    values(object) { return _.keys(object).map((name) => object[name]); },
    pairs(object) { return _.keys(object).map((name) => [name, object[name]]); },
    invert(object) { const out = {}; for (const name of _.keys(object)) { out[object[name]] = name; } return out; },
    functions(object) { const names = []; for (const name in object) { if (typeof object[name] === 'function') { names.push(name); } } return names.sort(); },
    extend(object, ...sources) { for (const source of sources) { for (const name in source) { object[name] = source[name]; } } return object; },
    defaults(object, ...sources) {
        for (const source of sources) { for (const name in source) { if (object[name] === undefined || object[name] === null) { object[name] = source[name]; } } }
        return object;
    },
    pick(object, ...names) { const out = {}; for (const name of names.flat()) { if (name in object) { out[name] = object[name]; } } return out; },
    omit(object, ...names) { const gone = names.flat().map(String); const out = {}; for (const name in object) { if (!gone.includes(name)) { out[name] = object[name]; } } return out; },
    clone(value) { return value === null || typeof value !== 'object' ? value : Array.isArray(value) ? value.slice() : _.extend({}, value); },
    tap(value, work) { work(value); return value; },
    has(object, name) { return object !== null && object !== undefined && Object.hasOwn(object, name); },
    matches(properties) { return (value) => _.keys(properties).every((name) => value !== null && value !== undefined && value[name] === properties[name]); },
    property(name) { return (value) => value[name]; },

    isEqual(a, b) { return equal(a, b, 0); },
    isEmpty(value) { return value === null || value === undefined || (Array.isArray(value) || typeof value === 'string' ? value.length === 0 : _.keys(value).length === 0); },
    isElement() { return false; },
    isArray: Array.isArray,
    isObject(value) { return value !== null && (typeof value === 'object' || typeof value === 'function'); },
    isFunction(value) { return typeof value === 'function'; },
    isString(value) { return Object.prototype.toString.call(value) === '[object String]'; },
    isNumber(value) { return Object.prototype.toString.call(value) === '[object Number]'; },
    isBoolean(value) { return Object.prototype.toString.call(value) === '[object Boolean]'; },
    isDate(value) { return value instanceof Date; },
    isRegExp(value) { return value instanceof RegExp; },
    isArguments(value) { return Object.prototype.toString.call(value) === '[object Arguments]'; },
    isFinite(value) { return isFinite(value) && !isNaN(parseFloat(value)); },
    isNaN(value) { return typeof value === 'number' && value !== value; },
    isNull(value) { return value === null; },
    isUndefined(value) { return value === undefined; },

    identity,
    constant(value) { return () => value; },
    noop() {},
    sortedIndex(list, value, by, context) {
        const f = iteratee(by, context);
        const rank = f(value);
        let low = 0;
        let high = list.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (f(list[middle]) < rank) { low = middle + 1; } else { high = middle; }
        }
        return low;
    },
    before(count, work) { let value; return function () { count -= 1; if (count > 0) { value = work.apply(this, arguments); } return value; }; },
    times(count, work, context) { return _.range(count).map((i) => work.call(context, i)); },
    random(low, high) { if (high === undefined) { high = low; low = 0; } return low + Math.floor(Math.random() * (high - low + 1)); },
    now() { return Date.now(); },
    uniqueId(prefix) { ids += 1; return (prefix || '') + ids; },
    escape(text) { return text === null || text === undefined ? '' : String(text).replace(/[&<>"'\/]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#x27;', '/': '&#x2F;' })[c]); },
    unescape(text) { return text === null || text === undefined ? '' : String(text).replace(/&(amp|lt|gt|quot|#x27|#x2F);/g, (all, name) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#x27': "'", '#x2F': '/' })[name]); },
    result(object, name) { const value = object === null || object === undefined ? undefined : object[name]; return typeof value === 'function' ? value.call(object) : value; },
};
let ids = 0;

function extreme(list, by, context, isBetter, none) {
    const f = iteratee(by, context);
    let best = none;
    let rank = none;
    let isFirst = true;
    _.each(list, (value, at) => {
        const own = f(value, at, list);
        if (isFirst || isBetter(own, rank)) { best = value; rank = own; isFirst = false; }
    });
    return best;
}
function grouped(list, by, context, put) {
    const out = {};
    const f = iteratee(by, context);
    _.each(list, (value, at) => { put(out, f(value, at, list), value); });
    return out;
}
function equal(a, b, depth) {
    if (Object.is(a, b)) { return true; }
    if (depth > 200) { throw new RangeError('the values are nested too deeply to compare'); }
    if (a === null || b === null || typeof a !== 'object' || typeof b !== 'object') { return false; }
    const kind = Object.prototype.toString.call(a);
    if (kind !== Object.prototype.toString.call(b)) { return false; }
    if (a instanceof Date || a instanceof Number || a instanceof Boolean) { return Number(a) === Number(b); }
    if (a instanceof RegExp || a instanceof String) { return String(a) === String(b); }
    const names = _.keys(a);
    return names.length === _.keys(b).length && names.every((name) => _.has(b, name) && equal(a[name], b[name], depth + 1));
}

// Templates are code of the operator, as ejs is; `host.compile` makes a function of them.
_.templateSettings = { escape: /<%-([\s\S]+?)%>/, interpolate: /<%=([\s\S]+?)%>/, evaluate: /<%([\s\S]+?)%>/ };
functions.template = function (text, data, settings) {
    text = String(text);
    const marks = ['escape', 'interpolate', 'evaluate'].map((kind) => (settings && settings[kind]) || _.templateSettings[kind]);
    const tag = new RegExp(marks.map((mark) => mark.source).join('|'), 'g');
    let code = 'with (__data) {';
    let at = 0;
    const put = (end) => { if (end > at) { code += '__out.push(' + JSON.stringify(text.slice(at, end)) + ');'; } };
    for (const found of text.matchAll(tag)) {
        put(found.index);
        at = found.index + found[0].length;
        const [, escaped, raw, script] = found;
        if (escaped !== undefined) { code += '__out.push(__escape((' + escaped + '\n)));'; }
        else if (raw !== undefined) { code += '__out.push((' + raw + '\n));'; }
        else { code += script + '\n'; }
    }
    put(text.length);
    const body = host.compile(code + '}', 'template:underscore', '__data, __out, __escape, print, _');
    const render = (values) => {
        const out = [];
        const plain = (value) => (value === null || value === undefined ? '' : _.escape(value));
        body.call(values, values || {}, out, plain, (...all) => { out.push(...all); }, _);
        return out.join('');
    };
    return data === undefined ? render : render(data);
};

const aliases = {
    forEach: 'each', collect: 'map', foldl: 'reduce', inject: 'reduce', foldr: 'reduceRight', detect: 'find', select: 'filter',
    all: 'every', any: 'some', include: 'contains', head: 'first', take: 'first', tail: 'rest', drop: 'rest', unique: 'uniq', methods: 'functions',
};
for (const name of Object.keys(aliases)) { functions[name] = functions[aliases[name]]; }

_.mixin = function (object) {
    for (const name of Object.keys(object)) {
        const work = _[name] = object[name];
        _.prototype[name] = function (...args) {
            const value = work.apply(_, [this._wrapped].concat(args));
            return this._chain ? _(value).chain() : value;
        };
    }
};
_.mixin(functions);
_.chain = (value) => _(value).chain();
_.prototype.chain = function () { this._chain = true; return this; };
_.prototype.value = function () { return this._wrapped; };
_.noConflict = () => _;
