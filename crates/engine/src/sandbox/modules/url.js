// The legacy `url.parse`, `url.format` and `url.resolve`.
'use strict';

const querystring = require('querystring');
const SLASHED = /^(https?|ftp|gopher|file|wss?):$/;

function Url() {
    for (const name of ['protocol', 'slashes', 'auth', 'host', 'port', 'hostname', 'hash', 'search', 'query', 'pathname', 'path', 'href']) {
        this[name] = null;
    }
}
Url.prototype.format = function () { return exports.format(this); };
exports.Url = Url;

exports.parse = function (text, withQuery, slashesDenoteHost) {
    if (text instanceof Url) { return text; }
    if (typeof text !== 'string') { throw new TypeError("Parameter 'url' must be a string"); }
    const url = new Url();
    let rest = text.trim();
    const scheme = /^([a-z0-9.+\-]+:)/i.exec(rest);
    if (scheme) {
        url.protocol = scheme[1].toLowerCase();
        rest = rest.slice(scheme[1].length);
    }
    if (rest.startsWith('//') && (scheme || slashesDenoteHost)) {
        url.slashes = true;
        const end = rest.slice(2).search(/[\/?#\\]/);
        let authority = end < 0 ? rest.slice(2) : rest.slice(2, end + 2);
        rest = end < 0 ? '' : rest.slice(end + 2);
        const at = authority.lastIndexOf('@');
        if (at >= 0) {
            url.auth = querystring.unescape(authority.slice(0, at));
            authority = authority.slice(at + 1);
        }
        const port = /:(\d*)$/.exec(authority);
        if (port) {
            if (port[1]) { url.port = port[1]; }
            authority = authority.slice(0, -port[0].length);
        }
        url.hostname = authority.toLowerCase();
        url.host = url.hostname + (url.port ? ':' + url.port : '');
        if (url.hostname.startsWith('[')) { url.hostname = url.hostname.slice(1, -1); }
    }
    rest = rest.replace(/[ "'<>`{}|\\^]/g, (character) => character === '\\' && url.slashes ? '/' : character === "'" ? '%27' : encodeURIComponent(character));
    const hash = rest.indexOf('#');
    if (hash >= 0) { url.hash = rest.slice(hash); rest = rest.slice(0, hash); }
    const question = rest.indexOf('?');
    if (question >= 0) {
        url.search = rest.slice(question);
        url.query = url.search.slice(1);
        rest = rest.slice(0, question);
    }
    if (withQuery) {
        url.search = url.search || '';
        url.query = querystring.parse(url.query || '');
    }
    if (rest) { url.pathname = rest; } else if (url.slashes && SLASHED.test(url.protocol)) { url.pathname = '/'; }
    if (url.pathname || url.search) { url.path = (url.pathname || '') + (url.search || ''); }
    url.href = exports.format(url);
    return url;
};

exports.format = function (url) {
    if (typeof url === 'string') { url = exports.parse(url); }
    let protocol = url.protocol || '';
    if (protocol && !protocol.endsWith(':')) { protocol += ':'; }
    const auth = url.auth ? encodeURIComponent(url.auth).replace(/%3A/i, ':') + '@' : '';
    let host = '';
    if (url.host) {
        host = auth + url.host;
    } else if (url.hostname) {
        host = auth + (url.hostname.includes(':') ? '[' + url.hostname + ']' : url.hostname) + (url.port ? ':' + url.port : '');
    }
    let search = url.search || '';
    if (!search && url.query && typeof url.query === 'object') {
        const query = querystring.stringify(url.query);
        search = query ? '?' + query : '';
    } else if (!search && typeof url.query === 'string' && url.query) {
        search = '?' + url.query;
    }
    let pathname = url.pathname || '';
    if (url.slashes || (!protocol || SLASHED.test(protocol)) && host) {
        host = '//' + host;
        if (pathname && !pathname.startsWith('/')) { pathname = '/' + pathname; }
    }
    let hash = url.hash || '';
    if (hash && !hash.startsWith('#')) { hash = '#' + hash; }
    if (search && !search.startsWith('?')) { search = '?' + search; }
    return protocol + host + pathname.replace(/[?#]/g, encodeURIComponent) + search.replace(/#/g, '%23') + hash;
};

exports.resolve = function (from, to) {
    const base = exports.parse(from, false, true);
    const target = exports.parse(to, false, true);
    if (target.protocol && target.protocol !== base.protocol) { return target.href; }
    const url = new Url();
    url.protocol = base.protocol;
    if (target.host) {
        Object.assign(url, { slashes: true, auth: target.auth, host: target.host, pathname: dots(target.pathname || '/'), search: target.search });
    } else {
        Object.assign(url, { slashes: base.slashes, auth: base.auth, host: base.host });
        const path = base.pathname || '/';
        if (!target.pathname) {
            url.pathname = path;
            url.search = target.search || base.search;
        } else {
            url.pathname = dots(target.pathname.startsWith('/') ? target.pathname : path.replace(/[^\/]*$/, '') + target.pathname);
            url.search = target.search;
        }
    }
    url.hash = target.hash;
    return exports.format(url);
};

function dots(path) {
    const parts = [];
    const list = path.split('/');
    list.forEach((part, index) => {
        const isLast = index === list.length - 1;
        if (part === '..') {
            if (parts.length > 1) { parts.pop(); }
            if (isLast) { parts.push(''); }
        } else if (part === '.') {
            if (isLast) { parts.push(''); }
        } else {
            parts.push(part);
        }
    });
    return parts.join('/');
}
