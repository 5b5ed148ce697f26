// Structures of the host, filled level by level as scripts look into them (see view.rs), and what the running call
// may ask the host for.

const ProxyClass = Proxy;
// A function called `then` is never the host's, so asking for one looks into nothing.
let isProbing = false;

function fill(handler, target) {
    const { source, at, make, isFrozen } = handler;
    setPrototypeOf(handler, null);
    handler.source = null;
    source(at, target, make, handler);
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
viewTraps.make = view;
viewTraps.isFrozen = false;
const frozenTraps = assign(create(viewTraps), { make: frozenView, isFrozen: true });
// What the interpreter makes most of, and quickest by a constructor, with no more members than the two that it has
// room for at once.
function View(source, at) {
    this.source = source;
    this.at = at;
}
View.prototype = viewTraps;
function view(isList, source, at) {
    return new ProxyClass(isList ? [] : {}, new View(source, at));
}
function FrozenView(source, at) {
    this.source = source;
    this.at = at;
}
FrozenView.prototype = frozenTraps;
function frozenView(isList, source, at) {
    return new ProxyClass(isList ? [] : {}, new FrozenView(source, at));
}
// Headers, to which hooks mostly only add: what is written waits in a list of names and values until something of
// them is read.
function HeaderView(call) { this.at = call; }
HeaderView.prototype = assign(create(viewTraps), {
    source: fillHeaders,
    written: null,
    set(target, name, value) {
        // What is no text takes a header away.
        if (typeof name !== 'string' || typeof value !== 'string' && typeof value !== 'number') {
            fill(this, target);
            target[name] = value;
        } else if (this.written === null) {
            this.written = [name, value];
        } else {
            this.written.push(name, value);
        }
        return true;
    },
});
function fillHeaders(call, target, make, handler) {
    ask(HEADER_MEMBERS, call, target, make);
    const written = target === undefined ? undefined : handler.written;
    if (written) {
        for (let i = 0; i < written.length; i += 2) { target[written[i]] = written[i + 1]; }
    }
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
// The numbers of the running call and of its session.
let running = 0;
let runningSession = 0;
