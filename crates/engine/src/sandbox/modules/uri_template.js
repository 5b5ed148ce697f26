// URI templates of tables (URI-1); the host parses and expands them.
'use strict';

// The bag may be a chain of layers; the host gets them as one.
function flat(bag) {
    const out = {};
    for (const name in bag) { out[name] = bag[name]; }
    return out;
}

exports.parse = function (text) {
    const found = host.uriTokens(String(text));
    return {
        tokens: found.tokens,
        merge() { return found.isBlock ? 'block' : 'field'; },
        format(bag, defaults) { return host.uriExpand(String(text), flat(bag), flat(defaults)); },
    };
};
