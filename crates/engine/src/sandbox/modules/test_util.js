// `util` for hooks of tests, with `pump` of its time: from one stream into another.
'use strict';

Object.assign(exports, require('util'));

exports.pump = function (from, into, callback) {
    let isOver = false;
    const end = (error) => {
        if (isOver) { return; }
        isOver = true;
        if (typeof callback === 'function') { callback(error); }
    };
    from.on('data', (piece) => into.write(piece));
    from.on('error', end);
    from.on('end', () => { into.end(); end(); });
};
