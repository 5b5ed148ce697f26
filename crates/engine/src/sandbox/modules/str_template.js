// String templates `a{b.c}d`: missing values and structures become empty text.
'use strict';

exports.parse = function (text) {
    text = String(text);
    if (/`/.test(text)) { throw new SyntaxError('the template contains a backtick'); }
    const parts = text.split(/\{([^{}]*)\}/);
    if (parts.some((part, i) => i % 2 === 0 && /[{}]/.test(part))) { throw new SyntaxError('the braces of the template do not match'); }
    const tokens = parts.filter((part, i) => i % 2 === 1);
    return {
        tokens,
        format(bag, keep) {
            return parts.map((part, i) => {
                if (i % 2 === 0) { return part; }
                const value = exports.lookup(bag, part);
                if (value === undefined || value === null || typeof value === 'object' || typeof value === 'function') { return keep ? '{' + part + '}' : ''; }
                return String(value);
            }).join('');
        },
    };
};

// The flat name first, then a walk; arrays on the way count as their first element.
exports.lookup = function (bag, name) {
    if (bag === null || bag === undefined) { return undefined; }
    if (bag[name] !== undefined) { return bag[name]; }
    const steps = name.split('.');
    let value = bag;
    for (let i = 0; i < steps.length; i += 1) {
        if (value === null || value === undefined) { return undefined; }
        value = value[steps[i]];
        if (i < steps.length - 1 && Array.isArray(value)) { value = value[0]; }
    }
    return value;
};
