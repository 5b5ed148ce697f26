//! Where a script is to blame when its error does not say.
//!
//! An error that was thrown carries a stack, and with it the line. A thrown text has none, nor has a
//! function that never answers, runs without end or answers with something that is no value. In: such
//! an error, and the function that was called. Out: the error with the place at which that function
//! is written, so that every failure of a script names a file and a line (SAF-14).

use rquickjs::Array as JsArray;

use super::{
    error::{Activity, ScriptError, ScriptErrorKind},
    instance::Entry,
    machine::Sandbox,
    realm::Realm,
};

impl Sandbox {
    /// `error` with the place of a function that the module exports, if it has none of its own.
    pub(super) fn placed(
        &self,
        realm: &Realm,
        entry: &Entry,
        function: &str,
        mut error: ScriptError,
    ) -> ScriptError {
        // What is unfinished is no failure yet.
        let has_none =
            matches!(error.kind, ScriptErrorKind::NotFound | ScriptErrorKind::Unfinished);
        if error.file.is_some() || has_none {
            return error;
        }
        // A limit that was hit has taken the realm with it.
        let is_loaded = if self.is_loaded(realm, entry) {
            Ok(())
        } else {
            self.load(realm, entry, function, |_, _| Ok(()))
        };
        let activity = Activity { subject: "Place", name: function, is_load: false };
        let place = is_loaded.and_then(|()| {
            self.enter(realm, activity, 0, |entered| {
                let exports = entered.instance.load(entered.ctx, entry)?;
                let place: JsArray<'_> = entered.kernel.call("placeOf", (exports, function))?;
                Ok((place.get::<String>(0)?, place.get::<u32>(1)?, place.get::<u32>(2)?))
            })
        });
        // Without a place, the error still says what is wrong.
        if let Ok((file, line, column)) = place {
            error.place(&file, line, column);
        }
        error
    }
}
