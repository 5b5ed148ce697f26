//! Scripts import nothing: what they may use, `require` finds. The kernel is a module of each realm, too, and an import
//! would find it.

use rquickjs::{
    Ctx, Exception, Module,
    loader::{ImportAttributes, Loader, Resolver},
};

/// Finds no module, by whatever name.
pub(super) struct NoImports;

impl NoImports {
    fn refuse(ctx: &Ctx<'_>) -> rquickjs::Error {
        Exception::throw_type(ctx, "`import` is not available in the sandbox; use `require`")
    }
}

impl Resolver for NoImports {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        _: &str,
        _: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        Err(Self::refuse(ctx))
    }
}

impl Loader for NoImports {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        _: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js>> {
        Err(Self::refuse(ctx))
    }
}
