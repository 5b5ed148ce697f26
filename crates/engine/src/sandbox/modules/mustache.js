// `to_html` and `render` of the mustache module; the host renders.
'use strict';

exports.name = 'mustache.js';
exports.render = exports.to_html = function (template, view) { return host.mustache(String(template), view); };
