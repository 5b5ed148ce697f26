//! What is shown to nobody.

use super::Setting;

pub(super) const SETTINGS: &[Setting] = &[Setting::new(
            "secrets",
            |draft| &mut draft.secrets,
            "Dotted paths of settings that must not be shown in errors, traces, logs and descriptions. Values from the environment are secrets without being listed.",
        )
        .guarding()];
