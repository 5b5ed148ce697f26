//! The thread that sends spans to a collector (OTLP over HTTP, in Protocol Buffers).
//!
//! In: spans of finished requests. Out: requests to the collector, a batch at a time. Promises: no request of a client
//! waits for it; what the collector cannot take for now is sent again after pauses that grow, and what it does not
//! take at last is dropped and counted; a collector that is away is complained of once for each time that it goes.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use bytes::Bytes;
use hyper::{
    Method, StatusCode,
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use qlio_engine::transport::{Exchange, Reply, Transport, TransportSettings};
use tokio::time::{sleep, timeout};

use super::{
    TraceSettings,
    queue::{Queue, SpanCounts},
    recording::Span,
    settings::pairs_of,
    wire,
};

/// How often a batch is sent, the first time included.
const ATTEMPTS_MAX: u32 = 5;
/// The pause after the first failure; each further one is twice as long.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// The longest pause, also if the collector asks for more.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long the end of the server waits for the last batches.
const FINISH_TIME_MAX: Duration = Duration::from_secs(5);
/// Bytes of what the collector answers.
const REPLY_BYTES_MAX: usize = 64 * 1024;

/// Of the program, with which it names itself.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where spans are handed over.
#[derive(Debug, Clone)]
pub struct Exporter(Arc<Desk>);

#[derive(Debug)]
struct Desk {
    queue: Queue,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

/// Told when sending begins to fail.
pub(super) type Complaints = Box<dyn Fn(String) + Send>;

impl Exporter {
    /// Starts the thread; nothing without an endpoint.
    ///
    /// # Errors
    /// Settings that the client cannot use, or there can be no thread.
    pub fn start(
        settings: &TraceSettings,
        transport: TransportSettings,
        complain: Complaints,
    ) -> io::Result<Option<Self>> {
        let Some(uri) = settings.uri() else { return Ok(None) };
        // Of those that cannot be sent, reading the settings has told.
        let headers = settings.headers.as_deref().and_then(headers_of).unwrap_or_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let transport = {
            let _entered = runtime.enter();
            let body_bytes_max = REPLY_BYTES_MAX;
            Transport::new(TransportSettings { body_bytes_max, ..transport })
                .map_err(io::Error::other)?
        };
        let desk =
            Arc::new(Desk { queue: Queue::new(settings.queue_max), thread: Mutex::default() });
        let (resource, timeout) = (settings.resource(), settings.timeout);
        let collector = Collector { uri, headers, resource, timeout, transport };
        let mut sending =
            Sending { desk: Arc::clone(&desk), collector, complain, is_failing: false };
        let thread = thread::Builder::new().name("spans".to_owned());
        let thread = thread.spawn(move || runtime.block_on(sending.run()))?;
        *lock(&desk.thread) = Some(thread);
        Ok(Some(Self(desk)))
    }

    /// One from which nobody takes anything.
    #[cfg(test)]
    pub(super) fn nowhere(queue_max: usize) -> Self {
        Self(Arc::new(Desk { queue: Queue::new(queue_max), thread: Mutex::default() }))
    }

    /// Hands over the spans of a request; so many more were dropped before.
    pub(super) fn send(&self, spans: Vec<Span>, dropped: usize) {
        self.0.queue.note_dropped(dropped);
        self.0.queue.push(spans);
    }

    /// What became of spans.
    pub fn counts(&self) -> SpanCounts {
        self.0.queue.counts()
    }

    /// Sends what waits, and ends; later spans are dropped.
    pub fn finish(&self) {
        self.0.queue.close();
        if let Some(thread) = lock(&self.0.thread).take() {
            // One that has panicked is at its end as well.
            let _ = thread.join();
        }
    }
}

/// Where spans go.
struct Collector {
    uri: String,
    headers: HeaderMap,
    resource: Vec<(String, String)>,
    timeout: Duration,
    transport: Transport,
}

/// Why a batch was not taken.
#[derive(Debug, PartialEq, Eq)]
struct Refusal {
    reason: String,
    /// It may be taken later.
    is_temporary: bool,
    /// When, if the collector says so.
    after: Option<Duration>,
}

struct Sending {
    desk: Arc<Desk>,
    collector: Collector,
    complain: Complaints,
    is_failing: bool,
}

impl Sending {
    async fn run(&mut self) {
        let desk = Arc::clone(&self.desk);
        let is_late = async {
            desk.queue.closed().await;
            sleep(FINISH_TIME_MAX).await;
        };
        tokio::select! {
            () = async {
                while let Some(batch) = desk.queue.next_batch().await {
                    self.deliver(batch).await;
                }
            } => {}
            () = is_late => {}
        }
        desk.queue.abandon();
    }

    /// Sends a batch until it is taken, or given up.
    async fn deliver(&mut self, batch: Vec<Span>) {
        let desk = Arc::clone(&self.desk);
        // Given up with the future, if the time for the end is over.
        let mut undelivered = Undelivered { queue: &desk.queue, count: batch.len() };
        let body = Bytes::from(wire::encode(batch, &self.collector.resource, VERSION));
        let mut attempts = 0;
        let reason = loop {
            attempts += 1;
            let is_last = attempts >= ATTEMPTS_MAX || desk.queue.is_closed();
            match self.collector.post(body.clone()).await {
                Ok(refused) => {
                    let refused = refused.min(undelivered.count);
                    desk.queue.note_sent(undelivered.count - refused);
                    undelivered.count = refused;
                    if refused == 0 {
                        self.is_failing = false;
                        return;
                    }
                    break format!("{refused} of them were refused");
                }
                Err(refusal) if is_last || !refusal.is_temporary => break refusal.reason,
                Err(refusal) => desk.queue.pause(pause(attempts, refusal.after)).await,
            }
        };
        if !std::mem::replace(&mut self.is_failing, true) {
            let uri = qlio_engine::transport::shown_uri(&self.collector.uri);
            (self.complain)(format!(
                "spans cannot be sent to {uri}: {reason}; they are dropped and counted in `qlio_spans_total`"
            ));
        }
    }
}

/// Spans that nobody has taken; they are dropped with this.
struct Undelivered<'q> {
    queue: &'q Queue,
    count: usize,
}

impl Drop for Undelivered<'_> {
    fn drop(&mut self) {
        self.queue.note_dropped(self.count);
    }
}

impl Collector {
    /// Sends a batch once; answers how many of its spans were refused.
    async fn post(&self, body: Bytes) -> Result<usize, Refusal> {
        let mut exchange = Exchange::new(Method::POST, self.uri.as_str());
        exchange.timeout = self.timeout;
        exchange.follows_redirects = false;
        exchange.body = body;
        exchange.headers_mut().extend(self.headers.clone());
        let protobuf = HeaderValue::from_static("application/x-protobuf");
        exchange.headers_mut().insert(header::CONTENT_TYPE, protobuf);
        match timeout(self.timeout, self.transport.send(exchange)).await {
            Ok(Ok(reply)) => judge(&reply),
            Ok(Err(error)) => Err(Refusal::temporary(error.to_string())),
            Err(_) => {
                let milliseconds = self.timeout.as_millis();
                Err(Refusal::temporary(format!("no answer within {milliseconds} ms")))
            }
        }
    }
}

impl Refusal {
    fn temporary(reason: String) -> Self {
        Self { reason, is_temporary: true, after: None }
    }
}

/// What the answer of a collector means, by the specification of OTLP over HTTP.
fn judge(reply: &Reply) -> Result<usize, Refusal> {
    if reply.status.is_success() {
        return Ok(wire::refused(&reply.body));
    }
    let is_temporary = matches!(
        reply.status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    );
    let after = reply.headers.get("retry-after").and_then(|text| std::str::from_utf8(text).ok());
    let after = after.and_then(|text| text.trim().parse().ok());
    Err(Refusal {
        reason: format!("it answers with status {}", reply.status.as_u16()),
        is_temporary,
        after: after.map(Duration::from_secs),
    })
}

/// How long to wait after so many attempts. Servers that fail together do not come back together.
fn pause(attempts: u32, after: Option<Duration>) -> Duration {
    let grown = PAUSE_FIRST.saturating_mul(1 << attempts.saturating_sub(1).min(16));
    let usual = grown.min(PAUSE_MAX).mul_f64(fastrand::f64() / 2.0 + 0.5);
    after.map_or(usual, |after| after.min(PAUSE_MAX))
}

/// The headers of a request to the collector, of which some are written as `name=value,name=value`; nothing if they
/// cannot be sent.
pub(super) fn headers_of(text: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs_of(text)? {
        let name = HeaderName::try_from(name).ok()?;
        let mut value = HeaderValue::try_from(value).ok()?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Some(headers)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_have_an_end() {
        for (attempts, most) in [(1, 1), (2, 2), (4, 8), (9, 30), (u32::MAX, 30)] {
            let pause = pause(attempts, None);
            let most = Duration::from_secs(most);
            assert!(pause <= most && pause >= most / 2, "{attempts}: {pause:?}");
        }
        assert_eq!(pause(1, Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(pause(1, Some(Duration::from_hours(7))), PAUSE_MAX);
    }
}
