// Body templates.

const templates = new Map();
function loadTemplate(id, text, file, escape) {
    const ejs = requireBundled('qlio-ejs');
    const { code, mayAssign } = ejs.generate(text);
    const body = host.compile(code, file, 'locals, filters, escape');
    const render = (locals) => body(locals, ejs.filters, ejs.escapes[escape]);
    templates.set(id, mayAssign ? (locals) => withoutNewGlobals(render, locals) : render);
}
function renderTemplate(id, session, call) {
    const render = templates.get(id);
    if (!render) { return null; }
    running = call;
    const locals = { statement: statementOf(call), params: paramsOf(session, call) };
    begin();
    return render(locals);
}
// Templates assign undeclared loop variables; they must not meet the next rendering.
function withoutNewGlobals(render, locals) {
    const before = new Set(keys(globalThis));
    try {
        return render(locals);
    } finally {
        for (const name of keys(globalThis)) { if (!before.has(name)) { delete globalThis[name]; } }
    }
}
