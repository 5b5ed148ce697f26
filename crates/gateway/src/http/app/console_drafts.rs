//! `/console/routes`: in development mode the console reads, checks and saves route files (CSL-7).
//!
//! In: a request whose body says what is wanted. Out: what became of it. Only pages of this server and programs may
//! ask, whatever the settings say of other origins. The thread that reloads the app does it, one draft after the other,
//! and the request waits without holding its worker.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use hyper::{
    StatusCode,
    body::Body,
    header::{self, HeaderValue},
};

use super::{Exchange, HttpApp};
use crate::{
    http::{
        body::ParsedBody,
        failure::Failure,
        gate::Visitor,
        respond::{self, Rendition, Response},
    },
    reload::{
        Reloads,
        draft::{Draft, Refusal},
    },
};

/// Who writes routes for the console, and where.
#[derive(Debug, Clone, Default)]
pub struct Drafts {
    /// The thread; nobody yet while the server starts.
    reloads: Arc<OnceLock<Reloads>>,
    folder: PathBuf,
}

impl Drafts {
    /// From now on drafts are done by this thread.
    pub fn start(&self, reloads: &Reloads) {
        // There is one thread for each process, and this is called once.
        let _ = self.reloads.set(reloads.clone());
    }

    /// The same for the routes in a folder.
    #[must_use]
    pub fn to(&self, folder: PathBuf) -> Self {
        Self { reloads: Arc::clone(&self.reloads), folder }
    }

    /// How a page calls a file of routes; `None` if it lies elsewhere.
    pub(super) fn name_of(&self, file: &str) -> Option<String> {
        let below = std::path::Path::new(file).strip_prefix(&self.folder).ok()?;
        below.to_str().filter(|name| !name.is_empty()).map(str::to_owned)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Script { status: refusal.status, body: refusal.to_value(), retry_after: None }
    }
}

impl HttpApp {
    /// Does what the body asks for.
    pub(super) async fn console_draft<B>(
        &self,
        exchange: &Exchange<'_>,
        body: B,
        rendition: Rendition<'_>,
    ) -> Result<Response, Failure>
    where
        B: Body<Data = Bytes> + Unpin,
        B::Error: std::fmt::Display,
    {
        let visitor = self.shared.settings.gate.admit(&exchange.head.headers)?;
        // A form of another page cannot send this type, whatever it makes of the origin.
        let media_type = exchange.header(header::CONTENT_TYPE).unwrap_or_default();
        let is_json = media_type
            .split(';')
            .next()
            .is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case("application/json"));
        if visitor != Visitor::Own {
            return Err(Failure::ForeignPage);
        }
        if !is_json {
            return Err(Refusal::new(415, "send what you want as `application/json`").into());
        }
        let (ParsedBody { value, .. }, _share) = self.body(exchange, body).await?;
        let draft = Draft::read(&value)?;
        let reloads = self.shared.drafts.as_ref().and_then(|drafts| drafts.reloads.get());
        let reloads = reloads
            .ok_or(Failure::Overloaded { reason: "the server is starting; try again soon" })?;
        let drafting = reloads.draft(draft).map_err(|_| Failure::Overloaded {
            reason: "too much waits for the thread that reads the app; try again soon",
        })?;
        let drafted = drafting.await.map_err(|_| Failure::Overloaded {
            reason: "the thread that reads the app has ended; start the server again",
        })??;
        let heavy = self.engine.heavy();
        let value = drafted.to_value();
        let mut response = respond::result(StatusCode::OK, value, &[], rendition, heavy).await?;
        response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        Ok(response)
    }
}
