//! What clients may do, and what they are told.

use super::{HOST_PATTERN, Setting, TextRule};
use crate::http::gate::is_origin_pattern;

const ORIGIN: TextRule =
    TextRule { accepts: is_origin_pattern, wanted: "an origin such as `https://host`, or `*`" };

pub(super) const SETTINGS: &[Setting] = &[
            Setting::new(
                "client_params",
                |draft| &mut draft.settings.client_params,
                "What query parameters and headers that a route does not declare may do: nothing (`declared`), fill tokens of tables that nothing else fills (`fill`), or also override defaults and settings (`any`).",
            )
            .guarding(),
            Setting::new(
                "adhoc.enabled",
                |draft| &mut draft.front.adhoc,
                "Answer scripts that clients send, at `/q` and over WebSocket. The address that the server listens on does not matter: behind a proxy, loopback is public.",
            )
            .guarding()
            .alias(&["adhoc"])
            .flags(&["--enable-q", "--adhoc", "--disableQ"]),
            Setting::new(
                "adhoc.config",
                |draft| &mut draft.settings.adhoc_config,
                "Names at the top of this file that scripts of clients may read.",
            )
            .guarding(),
            Setting::new(
                "console",
                |draft| &mut draft.front.console,
                "Serve the [console](console.md) at `/console`, and lead to it from `/`. What it may run and see is up to `adhoc.enabled`, `metadata` and `trace`.",
            )
            .guarding()
            .flags(&["--disableConsole"]),
            Setting::new(
                "trust.hosts",
                |draft| &mut draft.front.trust.hosts,
                "Names of this server, as host patterns: who asks for another one may not run scripts, and with `--dev` nothing at all. Without being listed, `localhost` and addresses count as names, with `--dev` those of loopback. See [Safety](safety.md).",
            )
            .guarding()
            .matching(HOST_PATTERN),
            Setting::new(
                "trust.origins",
                |draft| &mut draft.front.trust.origins,
                "Origins such as `https://console.example` whose pages may run scripts, at `/q` and over WebSocket, or `*` for all; pages of this server always may.",
            )
            .guarding()
            .alias(&["wsOrigins"])
            .flags(&["--wsOrigins"])
            .matching(ORIGIN),
            Setting::new(
                "errors",
                |draft| &mut draft.front.errors,
                "How much the body of an error says. `brief`: message, code, table, the upstream's status and an incident id that the log explains. `full`: also URIs, upstream headers and bodies, files and lines.",
            )
            .guarding(),
            Setting::new(
                "metadata",
                |draft| &mut draft.front.metadata,
                "What the pages of tables and routes, `show` and `describe` tell: everything, only routes, or nothing.",
            )
            .guarding(),
            Setting::new(
                "trace",
                |draft| &mut draft.front.trace,
                "How much clients may learn of a run: nothing, how statements come along, or all exchanges and values. See [Execution trace](trace.md).",
            )
            .guarding(),
            Setting::new(
                "jsonp",
                |draft| &mut draft.front.jsonp,
                "Wrap answers in a call if the query has a `callback`.",
            )
            .guarding(),
        ];
