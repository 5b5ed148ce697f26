//! `/console/decode`: what a script makes of an answer that the person at the console has at hand (CSL-8).
//!
//! In: a script in the query, and the bytes of an answer as the body, with its media type. Out: what `/q` would answer
//! if the one upstream that the script calls had answered so. It is a run like any other of a client's script, with
//! the same budget and limits; but it calls nobody, and nothing of it is kept in a cache.

use bytes::Bytes;
use hyper::{body::Body, header};
use qlio_data::{Object, redact::redact};
use qlio_engine::{Caller, ClientRequest, GivenAnswer};

use super::{Exchange, HttpApp, Snapshot};
use crate::http::{
    body,
    failure::Failure,
    query,
    respond::{self, Rendition, Response},
};

impl HttpApp {
    /// Runs the script with the body as the answer of its upstream.
    pub(super) async fn console_decode<B>(
        &self,
        exchange: &Exchange<'_>,
        query: &Object,
        body: B,
        rendition: Rendition<'_>,
    ) -> Result<Response, Failure>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        let Snapshot { settings, quotas, .. } = &*self.shared;
        settings.gate.admit(&exchange.head.headers)?;
        let script = query::text(query, "s").filter(|text| !text.is_empty());
        let script = script.ok_or(Failure::MissingQuery)?;
        let status = match query::text(query, "status") {
            None | Some("") => 200,
            // What is no number is refused with the numbers that are no status.
            Some(text) => text.parse().unwrap_or_default(),
        };
        let coding = exchange.header(header::CONTENT_ENCODING);
        let heavy = self.engine.heavy();
        // The share is kept as long as the run is, which has the bytes.
        let (raw, _share) = body::read(body, coding, &settings.body, &quotas.bodies, heavy).await?;
        let given = GivenAnswer {
            status,
            content_type: exchange.header(header::CONTENT_TYPE).map(str::to_owned),
            body: raw,
        };
        let request = ClientRequest { given: Some(given), ..ClientRequest::default() };
        let caller = Caller::AdHoc { may_call_private: false };
        match self.plan(script, &exchange.loaded).await? {
            Ok(plan) => Ok(self.run(exchange, &plan, &request, caller, None, rendition).await),
            Err(body) => {
                let body = redact(body, exchange.loaded.catalog.secrets());
                let failure = Failure::Script { status: 400, body, retry_after: None };
                Ok(respond::failure(&failure, rendition))
            }
        }
    }
}
