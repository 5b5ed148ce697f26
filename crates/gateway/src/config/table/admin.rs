//! Settings of the listener for operators.

use super::{Setting, TextRule};
use crate::admin::{is_address, is_token};

const ADDRESS: TextRule = TextRule {
    accepts: is_address,
    wanted: "an address such as `127.0.0.1:3001` or `unix:/run/qlio/admin.sock`, or a port of this machine",
};

const TOKEN: TextRule =
    TextRule { accepts: is_token, wanted: "a text of 16 to 512 visible ASCII characters" };

pub(super) const SETTINGS: &[Setting] = &[
    Setting::new(
        "admin.listen",
        |draft| &mut draft.front.admin.listen,
        "Where operators see what the server does: `host:port`, a port of `127.0.0.1`, or `unix:` and a path. See [Admin listener](admin.md).",
    ).fixed()
    .flags(&["--admin", "--monPort"])
    .matching(ADDRESS)
    .default_is("none")
    .guarding(),
    Setting::new(
        "admin.token",
        |draft| &mut draft.front.admin.token,
        "What operators have to show, as bearer token or as password; without it the admin listener is for this machine only. It counts as a secret.",
    ).fixed()
    .matching(TOKEN)
    .default_is("none")
    .guarding(),
];
