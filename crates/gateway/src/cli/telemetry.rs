//! What a server tells beside its answers and its log files: lines on stdout, and spans for a collector.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
    sync::Arc,
};

use qlio_engine::transport::{TlsSettings, TransportSettings};

use crate::http::{
    logs::{LogFormat, LogLevel, StdoutLog},
    server::{Event, EventSink},
    spans::{Exporter, TraceSettings},
};

/// Lines on stdout, if somebody wants them there; in a container whoever collects its output does.
///
/// # Errors
/// There can be no thread.
pub(super) fn start_stdout(
    format: LogFormat,
    level: LogLevel,
    secrets: &[String],
) -> io::Result<Option<Arc<StdoutLog>>> {
    let is_json = match format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto if io::stdout().is_terminal() => false,
        LogFormat::Auto if is_in_container() => true,
        LogFormat::Auto | LogFormat::None => return Ok(None),
    };
    Ok(Some(Arc::new(StdoutLog::start(is_json, level, secrets.to_vec())?)))
}

/// Whether the process runs in a container, as far as those who run containers tell.
fn is_in_container() -> bool {
    ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists())
        || ["KUBERNETES_SERVICE_HOST", "container"]
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// The thread that sends spans, if there is somebody to send them to.
///
/// # Errors
/// Settings that the client cannot use, or there can be no thread.
pub(super) fn start_exporter(
    traces: &TraceSettings,
    tls: TlsSettings,
    events: EventSink,
) -> io::Result<Option<Exporter>> {
    let transport = TransportSettings { tls, ..TransportSettings::default() };
    let complain = move |message| events(Event::Noted { message });
    Exporter::start(traces, transport, Box::new(complain))
}
