// Structures of the host, filled level by level as scripts look into them (see view.rs), and what the running call
// may ask the host for.

const ProxyClass = Proxy;
// A function called `then` is never the host's, so asking for one looks into nothing.
let isProbing = false;

function fill(handler, target) {
    const { source, at, make, isFrozen } = handler;
    setPrototypeOf(handler, null);
    handler.source = null;
    source(at, target, make);
    if (isFrozen) { freeze(target); }
}
const viewTraps = create(null);
for (const name of ['set', 'has', 'deleteProperty', 'ownKeys', 'getOwnPropertyDescriptor', 'defineProperty', 'preventExtensions']) {
    const reflect = Reflect[name];
    viewTraps[name] = function (target, a, b, c) { fill(this, target); return reflect(target, a, b, c); };
}
viewTraps.get = function (target, name) {
    if (isProbing && name === 'then') { return undefined; }
    fill(this, target);
    return target[name];
};
// What the interpreter makes most of, and quickest by a constructor.
function View(source, at, make, isFrozen) {
    this.source = source;
    this.at = at;
    this.make = make;
    this.isFrozen = isFrozen;
}
View.prototype = viewTraps;
function view(isList, source, at) {
    return new ProxyClass(isList ? [] : {}, new View(source, at, view, false));
}
// Headers, to which hooks mostly only add: what is written waits in the target until something of them is read.
const headerTraps = create(viewTraps);
function HeaderView(call) {
    this.source = fillHeaders;
    this.at = call;
    this.make = view;
    this.isFrozen = false;
    this.isWritten = false;
}
HeaderView.prototype = headerTraps;
headerTraps.set = function (target, name, value) {
    // What is no text takes a header away.
    if (typeof value === 'string' || typeof value === 'number') { this.isWritten = true; } else { fill(this, target); }
    target[name] = value;
    return true;
};
function fillHeaders(call, target, make) {
    if (target === undefined) { ask(HEADER_MEMBERS, call); return; }
    const written = { ...target };
    for (const name of keys(written)) { delete target[name]; }
    ask(HEADER_MEMBERS, call, target, make);
    assign(target, written);
}
function frozenView(isList, source, at) {
    return new ProxyClass(isList ? [] : {}, new View(source, at, frozenView, true));
}

// ---- what the running call may ask for; the numbers are those of arguments.rs
const URI = 0;
const HEADERS = 1;
const BODY = 2;
const BYTES = 3;
const PARAMS = 4;
const WRITTEN = 5;
const STATEMENT = 6;
const HEADER_MEMBERS = 7;
const CONFIG = 8;
const HAS_WRITTEN = 1;
const HAS_CONFIG = 2;
const { ask } = host;
// The number of the running call.
let running = 0;
