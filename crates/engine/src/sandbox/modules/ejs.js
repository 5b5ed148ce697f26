// The ejs dialect of 0.8 (CON-47): a template becomes the source of one function. The
// generated lines are the template's lines, so errors point at the right place.
'use strict';

const MARK = { '=': true, '-': true };

// How many lines end in a text, counted as the interpreter counts those of code.
function breaksOf(text) {
    return (text.match(/\r\n|[\n\r\u2028\u2029]/g) || []).length;
}

// Text as a statement. It ends with as many line breaks as are given.
function textCode(text, breaks) {
    if (text === '') { return ''; }
    const literal = JSON.stringify(text).replace(/\u2028/g, '\\u2028').replace(/\u2029/g, '\\u2029');
    return ';__out.push(' + literal + ');' + '\n'.repeat(breaks);
}

// `x | first | join:', '` becomes nested calls. `||`, and bars in text, are no filters.
function filtered(code) {
    const parts = [];
    let part = '';
    let quote = '';
    for (let i = 0; i < code.length; i += 1) {
        const c = code[i];
        if (quote) {
            part += c;
            if (c === '\\') { part += code[i + 1] || ''; i += 1; } else if (c === quote) { quote = ''; }
        } else if (c === '|' && code[i + 1] === '|') {
            part += '||';
            i += 1;
        } else if (c === '|') {
            parts.push(part);
            part = '';
        } else {
            if (c === '"' || c === "'" || c === '`') { quote = c; }
            part += c;
        }
    }
    parts.push(part);
    return parts.slice(1).reduce((value, filter) => {
        const at = filter.indexOf(':');
        const name = (at < 0 ? filter : filter.slice(0, at)).trim();
        const args = at < 0 ? '' : ', ' + filter.slice(at + 1);
        return '__filters.call(' + JSON.stringify(name) + ', ' + value + args + ')';
    }, parts[0]);
}

// What ends the code before a tag that follows it directly. Code that goes on there stays one piece.
function seam(before, after) {
    return /[,(]\s*$/.test(before) || /^\s*(else|catch|finally|while)\b/.test(after) ? '' : ';';
}

// Code that assigns may make globals: names that nobody declared.
const ASSIGNS = /(^|[^=!<>])=(?![=>])|\+\+|--|\b(in|of)\b/;

// The source of a template, and whether its code may make globals.
exports.generate = function (template) {
    // The first line of code stands on the template's first line. Templates may write to `buf`.
    let code = 'var __filters = filters, __escape = escape, __out = [], buf = __out; with (locals) { (function () { ';
    let at = 0;
    let before = null;
    let mayAssign = false;
    // Line breaks that comments in code needed; those of the next text make up for them.
    let ahead = 0;
    for (;;) {
        const open = template.indexOf('<%', at);
        if (open < 0) { break; }
        if (open > at) { before = null; }
        addText(template.slice(at, open));
        const close = template.indexOf('%>', open + 2);
        if (close < 0) {
            const line = breaksOf(template.slice(0, open)) + 1;
            throw new SyntaxError('`<%` in line ' + line + ' has no `%>`');
        }
        let js = template.slice(open + 2, close);
        at = close + 2;
        if (js.endsWith('-') && js !== '-') {
            js = js.slice(0, -1);
            if (template.startsWith('\r\n', at)) { at += 2; js += '\n'; } else if (template[at] === '\n') { at += 1; js += '\n'; }
        }
        const mark = MARK[js[0]] ? js[0] : '';
        mayAssign = mayAssign || ASSIGNS.test(mark ? js.slice(1) : js);
        if (mark) {
            let expression = js.slice(1);
            if (expression[0] === ':') { expression = filtered(expression.slice(1)); }
            const opened = mark === '=' ? ';__out.push(__escape((' : ';__out.push(((';
            code += opened + ended(expression) + ')));';
            before = null;
        } else {
            if (before !== null) { code += seam(before, js); }
            code += ' ' + ended(js);
            before = js;
        }
    }
    addText(template.slice(at));
    return { code: code + ' })(); } return __out.join("");', mayAssign };

    function addText(text) {
        const breaks = breaksOf(text);
        const added = Math.max(0, breaks - ahead);
        ahead -= breaks - added;
        code += textCode(text, added);
    }

    // Code, with a line break if a comment may have to end.
    function ended(js) {
        if (!js.slice(js.lastIndexOf('\n') + 1).includes('//')) { return js + ' '; }
        ahead += 1;
        return js + '\n';
    }
};

const ESCAPED_IN_JSON = /["\\\u0000-\u001f\ud800-\udfff]/;

// What `<%=` does to a value, by the type of the body.
exports.escapes = {
    markup(value) {
        const text = String(value);
        if (!/[&<>"]/.test(text)) { return text; }
        return text.replace(/&(?!#?[a-zA-Z0-9]+;)/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
    },
    // The inside of a JSON string. Most values have nothing to escape.
    json(value) {
        const text = String(value);
        if (typeof value === 'number' || !ESCAPED_IN_JSON.test(text)) { return text; }
        return JSON.stringify(text).slice(1, -1);
    },
    form(value) { return encodeURIComponent(String(value).toWellFormed()); },
};

const filters = {
    first(list) { return list[0]; },
    last(list) { return list[list.length - 1]; },
    capitalize(text) { text = String(text); return text.slice(0, 1).toUpperCase() + text.slice(1); },
    downcase(text) { return String(text).toLowerCase(); },
    upcase(text) { return String(text).toUpperCase(); },
    sort(list) { return Array.from(list).sort(); },
    sort_by(list, name) {
        return Array.from(list).sort((a, b) => (a[name] > b[name] ? 1 : a[name] < b[name] ? -1 : 0));
    },
    size(value) { return value.length; },
    length(value) { return value.length; },
    plus(a, b) { return Number(a) + Number(b); },
    minus(a, b) { return Number(a) - Number(b); },
    times(a, b) { return Number(a) * Number(b); },
    divided_by(a, b) { return Number(a) / Number(b); },
    join(list, separator) { return list.join(separator || ', '); },
    truncate(text, length, append) {
        text = String(text);
        return text.length > length ? text.slice(0, length) + (append || '') : text;
    },
    truncate_words(text, count) { return String(text).split(/ +/).slice(0, count).join(' '); },
    replace(text, pattern, replacement) { return String(text).replace(pattern, replacement || ''); },
    prepend(value, text) { return Array.isArray(value) ? [text].concat(value) : text + value; },
    append(value, text) { return Array.isArray(value) ? value.concat(text) : value + text; },
    map(list, name) { return list.map((item) => item[name]); },
    reverse(value) { return Array.isArray(value) ? value.slice().reverse() : String(value).split('').reverse().join(''); },
    get(object, name) { return object[name]; },
    json(value) { return JSON.stringify(value); },
};
exports.filters = {
    call(name, ...args) {
        if (!Object.hasOwn(filters, name)) { throw new TypeError('there is no filter `' + name + '`'); }
        return filters[name](...args);
    },
};
