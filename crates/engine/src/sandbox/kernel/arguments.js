// The arguments of hooks: made when a hook looks at them.

// ---- for any hook: a proxy that becomes an ordinary object when more is done with it than reading and writing
const argumentTraps = create(null);
function makeArgument(handler, target, name) {
    const value = target[name];
    if (value !== undefined) { return value; }
    const make = handler.makers[name];
    if (make === undefined || hasOwn(target, name)) { return value; }
    return target[name] = make(handler, target);
}
argumentTraps.get = function (target, name) {
    return typeof name === 'symbol' ? target[name] : makeArgument(this, target, name);
};
argumentTraps.set = function (target, name, value) { target[name] = value; return true; };
for (const trap of ['has', 'deleteProperty', 'ownKeys', 'getOwnPropertyDescriptor', 'defineProperty', 'preventExtensions']) {
    const reflect = Reflect[trap];
    argumentTraps[trap] = function (target, a, b) {
        for (const name of keys(this.makers)) { makeArgument(this, target, name); }
        setPrototypeOf(this, null);
        return reflect(target, a, b);
    };
}

function Arguments(makers, id, call) {
    this.makers = makers;
    this.id = id;
    this.call = call;
}
Arguments.prototype = argumentTraps;

// An object with the arguments that cost nothing, of what the host gives: that object, the URI or the status
// alone, or nothing.
function argumentsOf(given) {
    switch (typeof given) {
    case 'number': return { status: given, log };
    case 'string': return { uri: mutableUri(given), log };
    case 'undefined': return { log };
    default: given.log = log; return given;
    }
}

// ---- for a hook of which it is known that it names members of its argument and does nothing else with it
const CALL = Symbol('call');
// Makes constructors of arguments that are read by name alone: what costs something is behind a getter, and `headers`
// and `statement`, which cost little, are made for hooks that name them.
function nameableArguments(makers) {
    function NamedArguments(call, given, traits) {
        if (typeof given === 'string') {
            this.uri = mutableUri(given);
            if (traits.namesParams) { this[CALL] = call; }
        } else {
            if (given !== undefined) { this.status = given; }
            if (traits.namesLazy) { this[CALL] = call; }
        }
        if (traits.namesHeaders) { this.headers = headersView(call); }
        if (traits.namesStatement) { this.statement = statementOf(call); }
    }
    const { prototype } = NamedArguments;
    prototype.log = log;
    for (const name of keys(makers)) {
        if (name === 'headers' || name === 'statement') { continue; }
        const make = makers[name];
        defineProperty(prototype, name, {
            get() {
                const call = this[CALL];
                if (call !== running) { throw new Error('what a hook was given can not be kept beyond its call'); }
                const value = make({ id: runningSession, call });
                define(this, name, value);
                return value;
            },
            set(value) { define(this, name, value); },
        });
    }
    return NamedArguments;
}

// ---- what a hook does with its arguments, read in its text
const sourceOf = Function.prototype.toString;
// The one parameter of a function that is written in the usual ways.
const PARAMETER = /^(?:async\s+)?(?:function\b\s*[\w$]*\s*)?\(\s*([A-Za-z_$][\w$]*)\s*\)/;
// A member as hooks read and write it. One that were called would get the arguments as `this`.
const MEMBER = /\s*\??\.\s*(?:log(?=\s*\()|(?:uri|headers|statement|params|body|status)(?![\w$])(?!\s*(?:\?\.\s*)?(?:[(`]|\/[*/])))/.source;
function namesOnlyMembers(source) {
    const found = PARAMETER.exec(source);
    // Escapes hide names; `delete` takes a member away that a getter would make again.
    if (found === null || /\barguments\b|\bdelete\b|\\u/.test(source)) { return false; }
    const name = '(?<![\\w$])' + found[1].replaceAll('$', '\\$') + '(?![\\w$])';
    const rest = source.slice(found[0].length);
    return !new RegExp(name + '(?!' + MEMBER + ')').test(rest);
}

// Most hooks do not look at `this`, which is the statement; then it need not be made. A function that does names it.
const traitsOfHooks = new WeakMap();
function traitsOf(hook) {
    let traits = traitsOfHooks.get(hook);
    if (traits === undefined) {
        const source = apply(sourceOf, hook, []);
        traits = {
            looksAtThis: /this|super|native code/.test(source),
            namesOnlyMembers: namesOnlyMembers(source),
            namesParams: /params/.test(source),
            namesLazy: /params|body|uri/.test(source),
            namesHeaders: /headers/.test(source),
            namesStatement: /this|super|native code|statement/.test(source),
        };
        traitsOfHooks.set(hook, traits);
    }
    return traits;
}
