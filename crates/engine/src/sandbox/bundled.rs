//! The scripts that come with the sandbox: the kernel, and the modules that `require` finds without a file (HOK-10).
//!
//! Each realm of each thread runs them. They are compiled once for all of them: a realm reads in a tenth of the time
//! what it would take to compile the kernel, and a worker that begins with a new catalog does that in front of the
//! requests that wait for it.

use std::sync::OnceLock;

use rquickjs::{
    Ctx, Exception, Function, Module, Value as JsValue, WriteOptions,
    loader::{Loader as _, bundle::Bundle},
};

use super::error::OWN_FILE_PREFIX;

/// A script of the sandbox.
pub(super) struct Bundled {
    /// Its name in stacks of errors: [`OWN_FILE_PREFIX`] and the name that scripts require.
    file: &'static str,
    source: &'static str,
    /// The names that its source, the inside of a function, is given.
    parameters: &'static str,
    /// What the interpreter makes of it.
    compiled: OnceLock<[(&'static str, &'static [u8]); 1]>,
}

/// The kernel: the part of the sandbox that lives inside each realm. One function of the host's services, in
/// several files; it answers with what the host calls. It is strict code, as that of all modules is.
pub(super) static KERNEL: Bundled = Bundled {
    file: "qlio:kernel",
    source: concat!(
        include_str!("kernel/guard.js"),
        include_str!("kernel/timers.js"),
        include_str!("kernel/modules.js"),
        include_str!("kernel/outcome.js"),
        include_str!("kernel/views.js"),
        include_str!("kernel/sessions.js"),
        include_str!("kernel/arguments.js"),
        include_str!("kernel/hooks.js"),
        include_str!("kernel/connectors.js"),
        include_str!("kernel/functions.js"),
        include_str!("kernel/templates.js"),
        include_str!("kernel/interface.js"),
    ),
    parameters: "host",
    compiled: OnceLock::new(),
};

const fn module(file: &'static str, source: &'static str) -> Bundled {
    let parameters = "exports, require, module, host, kernel";
    Bundled { file, source, parameters, compiled: OnceLock::new() }
}

static MODULES: [Bundled; 24] = [
    module("qlio:underscore", include_str!("modules/underscore.js")),
    module("qlio:assert", include_str!("modules/assert.js")),
    module("qlio:util", include_str!("modules/util.js")),
    module("qlio:sys", include_str!("modules/util.js")),
    module("qlio:url", include_str!("modules/url.js")),
    module("qlio:querystring", include_str!("modules/querystring.js")),
    module("qlio:path", include_str!("modules/path.js")),
    module("qlio:crypto", include_str!("modules/crypto.js")),
    module("qlio:fs", include_str!("modules/fs.js")),
    module("qlio:mustache", include_str!("modules/mustache.js")),
    module("qlio:ql.io-mutable-uri", include_str!("modules/mutable_uri.js")),
    module("qlio:ql.io-uri-template", include_str!("modules/uri_template.js")),
    module("qlio:ql.io-str-template", include_str!("modules/str_template.js")),
    module("qlio:oauth", include_str!("modules/oauth.js")),
    module("qlio:protobuf", include_str!("modules/protobuf.js")),
    module("qlio:buffer", include_str!("modules/buffer.js")),
    // For the kernel; not on the list of names that scripts know, and harmless to them.
    module("qlio:qlio-text", include_str!("modules/text.js")),
    module("qlio:qlio-ejs", include_str!("modules/ejs.js")),
    module("qlio:qlio-nodeunit", include_str!("modules/nodeunit.js")),
    // For hooks of tests, which find some of them under the names of Node.
    module("qlio:qlio-test-streams", include_str!("modules/test_streams.js")),
    module("qlio:qlio-test-http", include_str!("modules/test_http.js")),
    module("qlio:qlio-test-express", include_str!("modules/test_express.js")),
    module("qlio:qlio-test-fs", include_str!("modules/test_fs.js")),
    module("qlio:qlio-test-util", include_str!("modules/test_util.js")),
];

/// The bundled module of this name.
pub(super) fn find(name: &str) -> Option<&'static Bundled> {
    MODULES.iter().find(|module| module.file.strip_prefix(OWN_FILE_PREFIX) == Some(name))
}

/// Whether scripts may require `name` without a file.
pub fn is_bundled(name: &str) -> bool {
    !name.starts_with("qlio-") && find(name).is_some()
}

impl Bundled {
    /// The function that the script is, in the realm of `ctx`.
    pub(super) fn function<'js>(&'static self, ctx: &Ctx<'js>) -> rquickjs::Result<Function<'js>> {
        let compiled = if let Some(compiled) = self.compiled.get() {
            compiled
        } else {
            let bytes = self.compile(ctx)?;
            self.compiled.get_or_init(|| [(self.file, bytes.leak())])
        };
        let (module, evaluation) = Bundle(&compiled[..]).load(ctx, self.file, None)?.eval()?;
        match evaluation.result::<JsValue<'js>>() {
            Some(result) => result.map(drop)?,
            // It would have to wait for something, which no script of ours does.
            None => return Err(Exception::throw_message(ctx, "a script of the sandbox waits")),
        }
        module.get("default")
    }

    fn compile(&self, ctx: &Ctx<'_>) -> rquickjs::Result<Vec<u8>> {
        let Self { source, parameters, .. } = self;
        let text = format!("export default (function ({parameters}) {{{source}\n}})");
        let options = WriteOptions { strip_source: true, ..WriteOptions::default() };
        Module::declare(ctx.clone(), self.file, text)?.write(options)
    }
}
