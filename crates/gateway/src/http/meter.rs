//! What one worker counts of the requests of clients, and which of them are under way.
//!
//! In: the begin and the end of each request. Out: a [`WorkerMeter`] for each worker, read by the admin listener.
//! Promises: counting takes no lock (`qlio_engine::meter`). A request that has its answer at once is in no list; one
//! that waits is put into the list of its worker, whose lock nobody else holds but for a glance. The number of series is
//! known when the catalog is loaded: paths of clients make no new one (OBS-4).

use std::{
    cell::Cell,
    collections::HashMap,
    future::poll_fn,
    net::IpAddr,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::{Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use hyper::{Method, Uri, http::request::Parts};
use qlio_data::Text;
use qlio_engine::{
    meter::{Count, Histogram, HistogramSum, Meter, OTHER, SeriesNames},
    transport::TransportView,
};
use qlio_plan::Catalog;

/// Pairs of method and path of routes that are counted by name; the requests to all others are counted together.
pub(crate) const ROUTE_SERIES_MAX: usize = 1_000;

/// Classes of statuses, from 1xx to 5xx.
pub(crate) const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Methods that are told where the path is no route.
const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "_OTHER"];

/// What answers a request that no route answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// `/q`.
    Script,
    /// Metadata.
    Metadata,
    /// The health check.
    Health,
    /// Scripts over WebSocket.
    Socket,
    /// Nothing.
    None,
}

impl Endpoint {
    const ALL: [(Self, &str); 5] = [
        (Self::Script, "/q"),
        (Self::Metadata, "metadata"),
        (Self::Health, "health"),
        (Self::Socket, "websocket"),
        (Self::None, OTHER),
    ];
}

/// What requests are counted as, the same for all workers and for all catalogs of a process: what has been counted once
/// stays, so that no counter goes back when another catalog is loaded.
#[derive(Debug)]
pub struct RequestSeries {
    /// Method and path, each pair once. Only loading adds to them.
    labels: Mutex<Vec<(String, String)>>,
}

/// Places of requests that no route answers.
const ENDPOINT_SERIES: usize = Endpoint::ALL.len() * METHODS.len();

/// All places that there can be.
const SERIES_MAX: usize = ENDPOINT_SERIES + ROUTE_SERIES_MAX;

impl Default for RequestSeries {
    fn default() -> Self {
        let of_endpoint = |name: &str| METHODS.map(|method| (method.to_owned(), name.to_owned()));
        let labels = Endpoint::ALL.iter().flat_map(|(_, name)| of_endpoint(name)).collect();
        Self { labels: Mutex::new(labels) }
    }
}

impl RequestSeries {
    /// The places of the routes of a catalog. Routes of catalogs before keep theirs.
    pub fn places(&self, catalog: &Catalog) -> Vec<usize> {
        let mut labels = self.labels();
        let mut known: HashMap<_, _> = labels.iter().cloned().zip(0..).collect();
        let places = catalog.routes().iter().map(|route| {
            let path = route.path.split('?').next().unwrap_or_default();
            let method = route.method.to_ascii_uppercase();
            let label = (method.clone(), path.to_owned());
            if let Some(place) = known.get(&label) {
                return *place;
            }
            if labels.len() >= SERIES_MAX {
                return place_of(Endpoint::None, &method);
            }
            known.insert(label.clone(), labels.len());
            labels.push(label);
            labels.len() - 1
        });
        places.collect()
    }

    /// Method and path of a series.
    pub fn label(&self, place: usize) -> (String, String) {
        let other = || ("_OTHER".to_owned(), OTHER.to_owned());
        self.labels().get(place).cloned().unwrap_or_else(other)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.labels().len()
    }

    /// No code under this lock panics.
    fn labels(&self) -> MutexGuard<'_, Vec<(String, String)>> {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn place_of(endpoint: Endpoint, method: &str) -> usize {
    let method = METHODS.iter().position(|known| *known == method).unwrap_or(METHODS.len() - 1);
    endpoint as usize * METHODS.len() + method
}

/// What one worker counts.
#[derive(Debug)]
pub struct WorkerMeter {
    /// Which worker.
    pub index: usize,
    /// What its engine counts.
    pub engine: Arc<Meter>,
    series: Arc<RequestSeries>,
    /// By place; made when there is something to count.
    times: Box<[OnceLock<Box<Times>>]>,
    begun: Count,
    ended: Count,
    abandoned: Count,
    stopped: Count,
    waiting: Mutex<Waiting>,
    transport: Mutex<Option<TransportView>>,
}

/// Times by class of status.
type Times = [Histogram; CLASSES.len()];

/// Requests that wait for something. They keep their places, so that coming and going is no search.
#[derive(Debug, Default)]
struct Waiting {
    numbers: u64,
    places: Vec<Option<Waits>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct Waits {
    number: u64,
    began: Instant,
    method: Method,
    uri: Uri,
    client: IpAddr,
    request_id: Text,
    place: usize,
    waker: Waker,
    is_stopped: bool,
}

/// A request that is under way.
#[derive(Debug, Clone)]
pub struct InFlight {
    /// Names it, such as `0-17`: its worker, and its number there.
    pub id: String,
    /// How long it has been going on.
    pub age: Duration,
    /// Its method.
    pub method: Method,
    /// Its path, without the query.
    pub path: String,
    /// The path of its route, or what else answers it.
    pub route: String,
    /// Who has sent it.
    pub client: IpAddr,
    /// The id under which it stands in logs.
    pub request_id: String,
}

impl WorkerMeter {
    /// A meter of nothing so far.
    pub fn new(index: usize, series: Arc<RequestSeries>, names: Arc<SeriesNames>) -> Self {
        let times = (0..SERIES_MAX).map(|_| OnceLock::new()).collect();
        Self {
            index,
            engine: Arc::new(Meter::new(names)),
            series,
            times,
            begun: Count::default(),
            ended: Count::default(),
            abandoned: Count::default(),
            stopped: Count::default(),
            waiting: Mutex::default(),
            transport: Mutex::default(),
        }
    }

    /// Shows these connections of the worker to upstreams from here on.
    pub fn attach(&self, view: TransportView) {
        *self.transport.lock().unwrap_or_else(PoisonError::into_inner) = Some(view);
    }

    /// The connections of the worker to upstreams.
    pub fn transport(&self) -> Option<TransportView> {
        self.transport.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What requests are counted as.
    pub fn series(&self) -> &RequestSeries {
        &self.series
    }

    /// A request begins. Called on the worker's own thread.
    pub(super) fn begin(&self, head: &Parts) -> Visit<'_> {
        self.begun.add(1);
        let place = place_of(Endpoint::None, head.method.as_str());
        Visit {
            meter: self,
            began: Instant::now(),
            place: Cell::new(place),
            waits_at: Cell::new(None),
            is_answered: Cell::new(false),
        }
    }

    /// Requests under way, those that wait for nothing included.
    pub fn active(&self) -> u64 {
        // Read in this order, so that none ends that has not begun.
        let ended = self.ended.get();
        self.begun.get().saturating_sub(ended)
    }

    /// Requests whose client left before there was an answer.
    pub fn abandoned(&self) -> u64 {
        self.abandoned.get()
    }

    /// Requests that an operator has stopped.
    pub fn stopped(&self) -> u64 {
        self.stopped.get()
    }

    /// Adds the times of one series and class to a sum.
    pub fn add_times(&self, place: usize, class: usize, sum: &mut HistogramSum) {
        let times = self.times.get(place).and_then(OnceLock::get);
        if let Some(times) = times.and_then(|classes| classes.get(class)) {
            times.add_to(sum);
        }
    }

    /// The requests that wait for something.
    pub fn in_flight(&self) -> Vec<InFlight> {
        let waiting = self.waiting();
        let request = |waits: &Waits| InFlight {
            id: format!("{}-{}", self.index, waits.number),
            age: waits.began.elapsed(),
            method: waits.method.clone(),
            path: waits.uri.path().to_owned(),
            route: self.series.label(waits.place).1,
            client: waits.client,
            request_id: waits.request_id.to_string(),
        };
        waiting.places.iter().flatten().map(request).collect()
    }

    /// Has a request that waits answered with 503; whether there is one of this number.
    pub fn stop(&self, number: u64) -> bool {
        let mut waiting = self.waiting();
        let mut requests = waiting.places.iter_mut().flatten();
        let Some(waits) = requests.find(|waits| waits.number == number) else { return false };
        waits.is_stopped = true;
        waits.waker.wake_by_ref();
        true
    }

    /// No code under this lock panics.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One request on its way through a worker; counted when it is dropped, if not before.
pub(super) struct Visit<'m> {
    meter: &'m WorkerMeter,
    began: Instant,
    place: Cell<usize>,
    /// Its place among those that wait; none until it has waited.
    waits_at: Cell<Option<usize>>,
    is_answered: Cell<bool>,
}

/// Who asks for what, for the list of requests under way.
#[derive(Clone, Copy)]
pub(super) struct Asked<'r> {
    pub(super) head: &'r Parts,
    pub(super) client: IpAddr,
    pub(super) request_id: &'r Text,
}

impl Visit<'_> {
    /// It is answered by the route of this place.
    pub(super) fn at_route(&self, place: Option<usize>) {
        if let Some(place) = place {
            self.place.set(place);
        }
    }

    /// It is answered by this endpoint.
    pub(super) fn at(&self, endpoint: Endpoint, method: &Method) {
        self.place.set(place_of(endpoint, method.as_str()));
    }

    /// The answer; nothing if an operator has stopped the request before there was one.
    pub(super) async fn unless_stopped<F: Future>(
        &self,
        asked: Asked<'_>,
        mut answering: Pin<&mut F>,
    ) -> Option<F::Output> {
        poll_fn(|context| match answering.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending if self.wait(asked, context.waker()) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Notes that the request waits; whether it has been stopped.
    fn wait(&self, asked: Asked<'_>, waker: &Waker) -> bool {
        let mut waiting = self.meter.waiting();
        let known = self.waits_at.get().and_then(|at| waiting.places.get_mut(at));
        if let Some(Some(waits)) = known {
            waits.waker.clone_from(waker);
            waits.place = self.place.get();
            return waits.is_stopped;
        }
        waiting.numbers += 1;
        let waits = Waits {
            number: waiting.numbers,
            began: self.began,
            method: asked.head.method.clone(),
            uri: asked.head.uri.clone(),
            client: asked.client,
            request_id: asked.request_id.clone(),
            place: self.place.get(),
            waker: waker.clone(),
            is_stopped: false,
        };
        let at = waiting.free.pop().unwrap_or(waiting.places.len());
        if at == waiting.places.len() {
            waiting.places.push(None);
        }
        waiting.places[at] = Some(waits);
        self.waits_at.set(Some(at));
        false
    }

    /// It was stopped.
    pub(super) fn note_stop(&self) {
        self.meter.stopped.add(1);
    }

    /// It is answered with this status.
    pub(super) fn end(self, status: u16) {
        self.is_answered.set(true);
        self.count(status);
    }

    fn count(&self, status: u16) {
        let class = usize::from(status / 100).clamp(1, CLASSES.len()) - 1;
        if let Some(times) = self.meter.times.get(self.place.get()) {
            times.get_or_init(Box::default)[class].observe(self.began.elapsed());
        }
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        if !self.is_answered.get() {
            if thread::panicking() {
                // The server answers it with 500.
                self.count(500);
            } else {
                self.meter.abandoned.add(1);
            }
        }
        self.meter.ended.add(1);
        if let Some(at) = self.waits_at.get() {
            let mut waiting = self.meter.waiting();
            waiting.places[at] = None;
            waiting.free.push(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn meter() -> WorkerMeter {
        WorkerMeter::new(3, Arc::default(), Arc::default())
    }

    fn head(method: &str) -> Parts {
        let request = Request::builder().method(method).uri("/a/b?token=secret").body(());
        request.expect("a request").into_parts().0
    }

    fn count(meter: &WorkerMeter, place: usize, class: usize) -> u64 {
        let mut sum = HistogramSum::default();
        meter.add_times(place, class, &mut sum);
        sum.count()
    }

    #[test]
    fn a_request_is_counted_once_by_its_end() {
        let meter = meter();
        meter.begin(&head("GET")).end(204);
        let visit = meter.begin(&head("BREW"));
        assert_eq!(meter.active(), 1);
        visit.at(Endpoint::Script, &Method::POST);
        visit.end(999);
        drop(meter.begin(&head("GET")));
        assert_eq!((meter.active(), meter.abandoned()), (0, 1));
        assert_eq!(count(&meter, place_of(Endpoint::None, "GET"), 1), 1);
        assert_eq!(count(&meter, place_of(Endpoint::Script, "POST"), 4), 1);
        let (method, route) = meter.series().label(place_of(Endpoint::None, "BREW"));
        assert_eq!((&*method, &*route), ("_OTHER", OTHER));
    }

    #[tokio::test]
    async fn a_request_that_waits_is_listed_and_can_be_stopped() {
        let meter = meter();
        let head = head("GET");
        let request_id = Text::from("r1");
        let asked = Asked { head: &head, client: [127, 0, 0, 1].into(), request_id: &request_id };
        let visit = meter.begin(&head);
        {
            let mut never = std::pin::pin!(std::future::pending::<()>());
            let mut answer = std::pin::pin!(visit.unless_stopped(asked, never.as_mut()));
            let mut context = std::task::Context::from_waker(Waker::noop());
            assert!(meter.in_flight().is_empty());
            assert!(answer.as_mut().poll(&mut context).is_pending());
            let listed = meter.in_flight();
            assert_eq!((listed.len(), &*listed[0].id, &*listed[0].path), (1, "3-1", "/a/b"));
            assert!(!meter.stop(7) && meter.stop(1));
            assert!(answer.await.is_none());
        }
        visit.end(503);
        assert!(meter.in_flight().is_empty());
        let visit = meter.begin(&head);
        let mut ready = std::pin::pin!(std::future::ready(()));
        assert!(visit.unless_stopped(asked, ready.as_mut()).await.is_some());
        assert!(meter.in_flight().is_empty());
        assert!(!visit.wait(asked, Waker::noop()) && !meter.stop(1));
        assert_eq!(meter.in_flight()[0].id, "3-2");
        assert_eq!(meter.waiting().places.len(), 1, "the place is used again");
    }
}
