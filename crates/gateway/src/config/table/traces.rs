//! Settings of traces; OpenTelemetry has variables of its own for most of them.

use super::{Setting, TIME_MAX, TextRule};
use crate::http::spans::{is_endpoint, is_list_of_headers, is_list_of_pairs};

/// Most spans that may be allowed to wait.
const QUEUE_MAX: u64 = 1_000_000;

const ENDPOINT: TextRule =
    TextRule { accepts: is_endpoint, wanted: "a URI such as `http://collector:4318`" };

const HEADERS: TextRule =
    TextRule { accepts: is_list_of_headers, wanted: "headers, `name=value,name=value`" };

const PAIRS: TextRule =
    TextRule { accepts: is_list_of_pairs, wanted: "names with values, `name=value,name=value`" };

pub(super) const SETTINGS: &[Setting] = &[
    Setting::new(
        "traces.endpoint",
        |draft| &mut draft.front.traces.endpoint,
        "Where spans are sent, by OTLP over HTTP: the URI before `/v1/traces`. Without it nothing is recorded. See [Trace](../operating/traces.md).",
    )
    .standard("OTEL_EXPORTER_OTLP_ENDPOINT")
    .fixed()
    .matching(ENDPOINT)
    .default_is("none"),
    Setting::new(
        "traces.headers",
        |draft| &mut draft.front.traces.headers,
        "Headers of these requests, such as a token: `name=value`, joined by commas, with `%20` for a blank and `%2C` for a comma. The values are secrets.",
    )
    .standard("OTEL_EXPORTER_OTLP_HEADERS")
    .fixed()
    .matching(HEADERS)
    .default_is("none"),
    Setting::new(
        "traces.protocol",
        |draft| &mut draft.front.traces.protocol,
        "How spans are sent. There is one way, so that a server that is told another does not keep silent.",
    )
    .standard("OTEL_EXPORTER_OTLP_PROTOCOL")
    .fixed(),
    Setting::new(
        "traces.timeoutMs",
        |draft| &mut draft.front.traces.timeout,
        "How long the collector may take for one request.",
    )
    .standard("OTEL_EXPORTER_OTLP_TIMEOUT")
    .fixed()
    .limit("a request to the collector", "sent again, 5 times at most, then dropped and counted")
    .within(1, TIME_MAX),
    Setting::new(
        "traces.service",
        |draft| &mut draft.front.traces.service,
        "What this server is called in traces.",
    )
    .standard("OTEL_SERVICE_NAME")
    .fixed()
    .default_is("`service.name` of `traces.resource`, else `qlio`"),
    Setting::new(
        "traces.resource",
        |draft| &mut draft.front.traces.resource,
        "What else is said of this server in traces: `name=value`, joined by commas, such as `deployment.environment.name=test`.",
    )
    .standard("OTEL_RESOURCE_ATTRIBUTES")
    .fixed()
    .matching(PAIRS)
    .default_is("none"),
    Setting::new(
        "traces.disabled",
        |draft| &mut draft.front.traces.is_disabled,
        "Nothing is recorded or sent, whatever else is said. Traces of others still go on to upstreams.",
    )
    .standard("OTEL_SDK_DISABLED")
    .fixed(),
    Setting::new(
        "traces.sampler",
        |draft| &mut draft.front.traces.sampler,
        "Which requests are recorded. Those with `parentbased` do as the caller has decided, if `traces.accept` believes it, and else what stands behind it.",
    )
    .standard("OTEL_TRACES_SAMPLER"),
    Setting::new(
        "traces.ratio",
        |draft| &mut draft.front.traces.ratio,
        "The part of requests that samplers with `traceidratio` record.",
    )
    .standard("OTEL_TRACES_SAMPLER_ARG"),
    Setting::new(
        "traces.accept",
        |draft| &mut draft.front.traces.accept,
        "Whose `traceparent` is believed: of `trusted` proxies (`trust.proxies`), of `all`, or of `none`. Whoever is believed decides what is recorded.",
    )
    .guarding(),
    Setting::new(
        "traces.maxQueue",
        |draft| &mut draft.front.traces.queue_max,
        "Most spans that wait to be sent.",
    )
    .standard("OTEL_BSP_MAX_QUEUE_SIZE")
    .fixed()
    .limit("the server", "those of further requests are dropped and counted")
    .within(1, QUEUE_MAX),
];
