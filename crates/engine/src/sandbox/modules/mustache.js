// `to_html` and `render` of the mustache module; the host renders.
'use strict';

const DEPTH_MAX = 64;

// A view with what it inherits: `params` holds all but what hooks wrote in its prototype.
function whole(view, depth) {
    if (view === null || typeof view !== 'object' || depth > DEPTH_MAX || typeof view.toJSON === 'function') { return view; }
    if (Array.isArray(view)) { return view.map((item) => whole(item, depth + 1)); }
    const copy = {};
    for (const name in view) {
        Object.defineProperty(copy, name, { value: whole(view[name], depth + 1), enumerable: true, writable: true, configurable: true });
    }
    return copy;
}

exports.name = 'mustache.js';
exports.render = exports.to_html = function (template, view) { return host.mustache(String(template), whole(view, 0)); };
