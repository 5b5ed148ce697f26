//! The health check: the server is healthy if it lists its tables (ECV-1).

use http_body_util::{BodyExt, Empty};
use hyper::{Method as HttpMethod, Request, header};
use qlio_data::{Object, codec::json};

use super::{Exchange, HttpApp};
use crate::http::{
    disclosure::MetadataScope,
    ecv::{Asked, State},
    failure::Failure,
    respond::{self, Rendition, Response},
};

/// What is asked for to see whether the server works.
const MONITORED: &str = "/tables";

impl HttpApp {
    /// Answers the health check.
    pub(super) async fn health(
        &self,
        exchange: &Exchange<'_>,
        asked: Asked,
    ) -> Result<Response, Failure> {
        let health = &self.shared.health;
        let method = &exchange.head.method;
        let (is_allowed, allow) = match asked {
            Asked::State => (matches!(*method, HttpMethod::GET | HttpMethod::HEAD), "GET"),
            Asked::Disable | Asked::Enable => (*method == HttpMethod::POST, "POST"),
        };
        if *method == HttpMethod::OPTIONS {
            return Ok(respond::options(allow));
        }
        if !is_allowed {
            let (method, target) = (method.to_string(), exchange.target());
            return Err(Failure::MethodNotAllowed { method, target, allow: allow.to_owned() });
        }
        if asked != Asked::State {
            self.shared.settings.gate.admit(&exchange.head.headers)?;
        }
        Ok(match asked {
            Asked::Disable => health.switch(true),
            Asked::Enable => health.switch(false),
            Asked::State if health.is_disabled() => health.answer(State::Disabled, exchange.local),
            Asked::State if self.lists_tables(exchange).await => {
                health.answer(State::Available, exchange.local)
            }
            Asked::State => health.answer(State::Warning, exchange.local),
        })
    }

    /// Whether the server answers like a working one: within this process, since a connection to
    /// ourselves could be refused for reasons that concern no client.
    async fn lists_tables(&self, exchange: &Exchange<'_>) -> bool {
        let request = Request::get(MONITORED).header(header::ACCEPT, "application/json").body(());
        let Ok(request) = request else { return false };
        let (head, ()) = request.into_parts();
        let &Exchange { peer, local, .. } = exchange;
        let loaded = exchange.loaded.clone();
        let request_id = exchange.request_id.clone();
        // Whether clients are told of tables says nothing about the server's health.
        let metadata = MetadataScope::All;
        let inner = Exchange {
            head: &head,
            peer,
            local,
            request_id,
            metadata,
            loaded,
            log: None,
            trace: None,
            followers: None,
            visit: None,
        };
        let answer = self.dispatch(&inner, Ok(Object::new()), Empty::new(), Rendition::default());
        let Ok(response) = answer.await else { return false };
        if response.status().as_u16() >= 300 {
            return false;
        }
        let Ok(body) = response.into_body().collect().await;
        std::str::from_utf8(&body.to_bytes()).is_ok_and(|text| json::parse_str(text).is_ok())
    }
}
