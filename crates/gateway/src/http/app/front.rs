//! The endpoints of one worker over time: which snapshot its next request is answered from.
//!
//! In: the snapshot that is published, and requests. Out: answers, each from one snapshot whole (OPR-1). Looking
//! whether another one has been published takes no lock. The first request after that pays for the new engine, which
//! takes the connections of the old one over; the old one goes with the last request that began with it.

use std::{cell::RefCell, rc::Rc, sync::Arc};

use arc_swap::ArcSwap;

use super::{Ends, HttpApp, Snapshot};
use crate::http::{
    respond::Response,
    server::{App, Event, EventSink, Held, Pulse, Request},
    websocket::handshake,
};

/// The endpoints of one worker.
pub struct Front {
    published: Arc<ArcSwap<Snapshot>>,
    current: RefCell<Current>,
    events: EventSink,
    pub(super) pulse: Arc<Pulse>,
}

struct Current {
    /// The snapshot that was seen last; the endpoints are over an older one if no engine could be made for it.
    seen: Arc<Snapshot>,
    app: Rc<HttpApp>,
}

impl Front {
    /// Endpoints that begin with these and follow what is published.
    pub fn new(published: Arc<ArcSwap<Snapshot>>, app: HttpApp, events: EventSink) -> Self {
        let pulse = Arc::clone(&app.pulse);
        let current = Current { seen: Arc::clone(&app.shared), app: Rc::new(app) };
        Self { published, current: RefCell::new(current), events, pulse }
    }

    /// The endpoints over the snapshot that is published now.
    pub(super) fn app(&self) -> Rc<HttpApp> {
        let published = self.published.load();
        let mut current = self.current.borrow_mut();
        if !Arc::ptr_eq(&published, &current.seen) {
            current.seen = Arc::clone(&published);
            match current.app.succeed(Arc::clone(&published)) {
                Ok(app) => current.app = Rc::new(app),
                // It was tried before it was published, so something has changed since.
                Err(error) => {
                    let message =
                        format!("a worker goes on with the catalog and settings before: {error}");
                    (self.events)(Event::Noted { message });
                }
            }
        }
        Rc::clone(&current.app)
    }
}

impl App for Front {
    fn answer(&self, request: Request) -> impl Future<Output = Response> {
        // Taken apart before the future begins, so that it holds the request once.
        let (mut head, body) = request.message.into_parts();
        let Request { peer, local, is_tls, .. } = request;
        let ends = Ends { peer, local, is_tls };
        let app = self.app();
        app.tell_identity(&mut head.headers, request.identity.as_deref());
        async move {
            if handshake::is_asked(&head) {
                return app.open_socket(head);
            }
            app.respond(&head, body, ends).await
        }
    }

    async fn hold(&self, held: Held) {
        self.converse(held).await;
    }

    async fn end(&self) {
        let app = Rc::clone(&self.current.borrow().app);
        app.engine.end().await;
    }
}
