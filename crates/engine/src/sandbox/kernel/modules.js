// `require`, and the globals that scripts know.

const modules = new Map();
const bundled = new Map();
let loads = 0;

function directoryOf(path) {
    const at = path.lastIndexOf('/');
    return at <= 0 ? '/' : path.slice(0, at);
}

function requireFrom(directory) {
    return function require(name) {
        name = String(name);
        if (/^\.{0,2}\//.test(name) || name === '.' || name === '..') {
            return loadFile(host.resolve(directory, name)).exports;
        }
        return requireBundled(hasOwn(inner.standIns, name) ? inner.standIns[name] : name);
    };
}

function requireBundled(name) {
    const known = bundled.get(name);
    if (known) { return known.exports; }
    const body = host.bundled(name);
    if (body === undefined) { return inner.missing('module `' + name + '` is not available in the sandbox'); }
    const module = { id: name, exports: {} };
    bundled.set(name, module);
    body.call(module.exports, module.exports, requireBundled, module, host, inner);
    return module.exports;
}

function loadFile(path) {
    const known = modules.get(path);
    if (known) { return known; }
    const module = { id: path, filename: path, exports: {}, loaded: false, children: [], paths: [] };
    modules.set(path, module);
    const require = requireFrom(directoryOf(path));
    module.require = require;
    loads += 1;
    try {
        const text = host.readText(path);
        if (path.endsWith('.json')) {
            module.exports = JSON.parse(text);
        } else {
            const body = host.compile(text, path, 'exports, require, module, __filename, __dirname');
            body.call(module.exports, module.exports, require, module, path, directoryOf(path));
        }
        module.loaded = true;
    } catch (error) {
        modules.delete(path);
        throw error;
    } finally {
        loads -= 1;
    }
    return module;
}

function load(name, isFile) {
    begin();
    const exports = isFile ? loadFile(name).exports : requireBundled(name);
    timers = [];
    return exports;
}

// ---- globals
lazily('Buffer', () => requireBundled('buffer').Buffer);
lazily('TextEncoder', () => requireBundled('qlio-text').TextEncoder);
lazily('TextDecoder', () => requireBundled('qlio-text').TextDecoder);
hidden('global', globalThis);
hidden('process', {
    version: 'v0.8.28', versions: {}, env: {}, argv: [], platform: 'linux', pid: 1,
    cwd() { return '/'; },
    nextTick(job, ...rest) { Promise.resolve().then(() => job.apply(undefined, rest)); },
});
function logged(severity) {
    return function () { host.log(severity, requireBundled('util').format.apply(null, arguments)); };
}
hidden('console', {
    log: logged('info'), info: logged('info'), debug: logged('info'), trace: logged('info'),
    dir: logged('info'), warn: logged('warn'), error: logged('error'),
    assert(condition) { if (!condition) { host.log('error', 'Assertion failed'); } },
    time() {}, timeEnd() {},
});

// What a hook gets as `log`.
function log(severity, message) {
    const level = severity === 'error' || severity === 'warn' ? severity : 'info';
    let text = message;
    if (text instanceof Error) { text = text.message; }
    if (text === undefined || text === null || text === '') { text = '(no message)'; }
    host.log(level, typeof text === 'string' ? text : requireBundled('util').format(text));
}
