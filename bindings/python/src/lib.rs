//! `qlio_engine` below its Python: an app of `qlio_embed` as classes of Python.
//!
//! In: JSON texts and bytes, made by `python/qlio_engine`. Out: JSON texts and bytes, handed to functions of Python by
//! one thread of each app, so that the threads that run scripts never wait for the interpreter's lock. Shapes, errors,
//! awaitables and iterators are made in Python.

// `unsafe` is not forbidden as elsewhere: the macros of PyO3 expand to it. Nothing here is written with it.

use std::{
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    thread,
    time::Duration,
};

use bytes::Bytes;
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
    types::{PyBytes, PyTuple},
};
use qlio_embed::{
    Answer, App, EventText, Failure, Options, RouteAnswer, RouteCall, RouteRun, Run, Script,
    ScriptRun,
};

/// Something to hand to a function of Python.
enum Told {
    Script(Result<Answer, Failure>),
    Route(Result<RouteAnswer, Failure>),
    Event(Option<EventText>),
    Closed,
}

impl Told {
    /// The arguments of the function.
    fn arguments(self, py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        let nothing = || py.None().into_bound(py);
        match self {
            Self::Script(Ok(Answer { body, headers, warnings })) => {
                (nothing(), body, headers, warnings).into_pyobject(py)
            }
            Self::Route(Ok(RouteAnswer { status, headers, body })) => {
                (nothing(), PyBytes::new(py, &body), headers, status).into_pyobject(py)
            }
            Self::Script(Err(failure)) | Self::Route(Err(failure)) => {
                (failure.to_json(), nothing(), nothing(), nothing()).into_pyobject(py)
            }
            Self::Event(Some(EventText { name, data })) => ((name, data),).into_pyobject(py),
            Self::Event(None) | Self::Closed => (nothing(),).into_pyobject(py),
        }
    }
}

/// What the delivering thread has to do. There is at most one outcome and one event of each run, so that the bound of
/// runs is that of the queue.
type Delivery = (Py<PyAny>, Told);

/// Hands things to functions of Python until there are no more senders.
fn start_delivery() -> std::io::Result<Sender<Delivery>> {
    let (sender, receiver) = channel::<Delivery>();
    thread::Builder::new().name("qlio delivery".to_owned()).spawn(move || {
        while let Ok(first) = receiver.recv() {
            // Fails while the interpreter ends; then nobody wants to know any more.
            let delivered = Python::try_attach(|py| {
                let mut next = Some(first);
                while let Some((then, told)) = next {
                    let called = told.arguments(py).and_then(|said| then.call1(py, said));
                    if let Err(error) = called {
                        error.write_unraisable(py, Some(then.bind(py)));
                    }
                    next = receiver.try_recv().ok();
                }
            });
            if delivered.is_none() {
                return;
            }
        }
    })?;
    Ok(sender)
}

fn wrong(error: &impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Hands an outcome over by way of the delivering thread.
fn deliver<T: Send + 'static>(
    run: &Result<Run<T>, Failure>,
    deliveries: &Sender<Delivery>,
    then: Py<PyAny>,
    told: impl FnOnce(Result<T, Failure>) -> Told + Send + 'static,
) -> PyResult<()> {
    let deliveries = deliveries.clone();
    // The thread may have ended with the interpreter.
    let send = move |outcome| drop(deliveries.send((then, told(outcome))));
    match run {
        Ok(run) => {
            if run.when_done(send) {
                return Ok(());
            }
            Err(asked_before())
        }
        Err(failure) => {
            send(Err(failure.clone()));
            Ok(())
        }
    }
}

/// How often somebody who waits without an event loop looks whether a signal has come.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// Waits for an outcome without the interpreter's lock. A signal, such as Ctrl-C, gives the run up.
fn wait<T: Send + 'static>(
    py: Python<'_>,
    run: &Result<Run<T>, Failure>,
) -> PyResult<Result<T, Failure>> {
    let run = match run {
        Ok(run) => run,
        Err(failure) => return Ok(Err(failure.clone())),
    };
    let (sender, mut receiver) = channel();
    // After a signal nobody waits any more.
    if !run.when_done(move |outcome| drop(sender.send(outcome))) {
        return Err(asked_before());
    }
    loop {
        let (back, said) = py.detach(move || {
            let said = receiver.recv_timeout(SIGNALS_EVERY);
            (receiver, said)
        });
        receiver = back;
        match said {
            Ok(outcome) => return Ok(outcome),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| run.cancel())?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("the run has ended without an outcome"));
            }
        }
    }
}

fn asked_before() -> PyErr {
    PyRuntimeError::new_err("the outcome was asked for before")
}

fn is_first_reader(is_first: bool) -> PyResult<()> {
    if is_first {
        return Ok(());
    }
    Err(PyRuntimeError::new_err("the next event is waited for already"))
}

/// An app that is open.
#[pyclass(frozen, module = "qlio_engine._native")]
struct NativeApp {
    app: App,
    deliveries: Sender<Delivery>,
}

#[pymethods]
impl NativeApp {
    #[new]
    fn new(py: Python<'_>, options: &str) -> PyResult<Self> {
        let options = Options::parse(options).map_err(|error| wrong(&error))?;
        let app = py.detach(|| App::open(&options)).map_err(|error| wrong(&error))?;
        Ok(Self { app, deliveries: start_delivery()? })
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.app.warnings().to_vec()
    }

    #[getter]
    fn size(&self) -> (usize, usize) {
        self.app.size()
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.app.fingerprint()
    }

    fn exec(&self, said: &str) -> PyResult<NativeScriptRun> {
        let script = Script::parse(said).map_err(|error| wrong(&error))?;
        let deliveries = self.deliveries.clone();
        Ok(NativeScriptRun { run: self.app.exec(script), deliveries })
    }

    fn call(&self, said: &str, body: &[u8]) -> PyResult<NativeRouteRun> {
        let call = RouteCall::parse(said, Bytes::copy_from_slice(body));
        let call = call.map_err(|error| wrong(&error))?;
        Ok(NativeRouteRun { run: self.app.call(call), deliveries: self.deliveries.clone() })
    }

    fn next_note(&self, then: Py<PyAny>) -> PyResult<()> {
        let deliveries = self.deliveries.clone();
        is_first_reader(self.app.next_note(move |note| {
            drop(deliveries.send((then, Told::Event(note))));
        }))
    }

    fn close(&self, grace_ms: u32, then: Py<PyAny>) {
        let deliveries = self.deliveries.clone();
        let grace = Duration::from_millis(u64::from(grace_ms));
        self.app.close(grace, move || drop(deliveries.send((then, Told::Closed))));
    }
}

/// A script under way, or why it is not.
#[pyclass(frozen, module = "qlio_engine._native")]
struct NativeScriptRun {
    run: Result<ScriptRun, Failure>,
    deliveries: Sender<Delivery>,
}

#[pymethods]
impl NativeScriptRun {
    fn when_done(&self, then: Py<PyAny>) -> PyResult<()> {
        deliver(&self.run, &self.deliveries, then, Told::Script)
    }

    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        Told::Script(wait(py, &self.run)?).arguments(py)
    }

    fn next_event(&self, then: Py<PyAny>) -> PyResult<()> {
        let deliveries = self.deliveries.clone();
        let send = move |event| drop(deliveries.send((then, Told::Event(event))));
        if let Ok(run) = &self.run {
            return is_first_reader(run.next_event(send));
        }
        send(None);
        Ok(())
    }

    fn cancel(&self) {
        if let Ok(run) = &self.run {
            run.cancel();
        }
    }
}

/// A request to a route under way, or why it is not.
#[pyclass(frozen, module = "qlio_engine._native")]
struct NativeRouteRun {
    run: Result<RouteRun, Failure>,
    deliveries: Sender<Delivery>,
}

#[pymethods]
impl NativeRouteRun {
    fn when_done(&self, then: Py<PyAny>) -> PyResult<()> {
        deliver(&self.run, &self.deliveries, then, Told::Route)
    }

    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        Told::Route(wait(py, &self.run)?).arguments(py)
    }

    fn cancel(&self) {
        if let Ok(run) = &self.run {
            run.cancel();
        }
    }
}

/// The module below `qlio_engine`.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<NativeApp>()?;
    module.add_class::<NativeScriptRun>()?;
    module.add_class::<NativeRouteRun>()
}
