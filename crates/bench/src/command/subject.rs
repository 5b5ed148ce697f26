//! What is loaded: somebody's URL, or a gateway of our own with a scenario or a format.

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use bytes::Bytes;
use hyper::StatusCode;
use qlio_data::codec::{DecodeError, json};

use crate::{
    codec::{Leniency, difference},
    data::{items, scenario::Scenario},
    error::{BenchError, failed, usage},
    load::{Failure, Target, TargetOptions, fetch},
    process::{Gateway, GatewayOptions, Path},
};

/// How long the first answer may take.
const FIRST_PATIENCE: Duration = Duration::from_secs(30);

/// What is loaded.
#[derive(Debug, Clone)]
pub enum Subject {
    /// A server that somebody else runs; with `same_body` every answer must equal the first.
    Url {
        /// The request.
        target: TargetOptions,
        /// Whether a different body is an error.
        same_body: bool,
    },
    /// One route of a gateway of our own, in one format of its upstream.
    Path(Path),
    /// One scenario on a gateway of our own.
    Scenario(Scenario),
}

/// A subject that has answered once, rightly.
pub(super) struct Prepared {
    pub(super) target: Target,
    pub(super) address: SocketAddr,
    /// Kept so that it lives as long as it is loaded.
    pub(super) gateway: Option<Gateway>,
}

impl Subject {
    /// For titles.
    pub fn describe(&self) -> String {
        match self {
            Self::Url { target, .. } => target.url.clone(),
            Self::Path(path) => format!("{} upstream, route {}", path.name(), path.route()),
            Self::Scenario(scenario) => format!("scenario {}", scenario.name()),
        }
    }

    /// Starts what has to be started and sends one request.
    pub(super) fn prepare(&self, options: &GatewayOptions) -> Result<Prepared, BenchError> {
        match self {
            Self::Url { target, same_body } => {
                let target = Target::new(target)?;
                let (address, status, body) = first_answer(&target)?;
                if !(200..400).contains(&status.as_u16()) {
                    return Err(failed(format!(
                        "`{}` answers {status}; nothing was measured",
                        target.url
                    )));
                }
                let target = if *same_body { target.expecting(body) } else { target };
                Ok(Prepared { target, address, gateway: None })
            }
            Self::Path(path) => {
                let gateway = Gateway::start(options)?;
                own(gateway, &path.route(), |body| {
                    let value = json::parse_str(body)?;
                    let count = value.elements().map_or(0, |rows| {
                        let items = rows.first().map(|row| row.member("items"));
                        items.map_or(0, |items| items.len())
                    });
                    let count = count.max(value.member("items").len());
                    if count as u64 == items::ITEMS {
                        Ok(())
                    } else {
                        Err(WrongAnswer::Items(count))
                    }
                })
            }
            Self::Scenario(scenario) => prepare_scenario(*scenario, Gateway::start(options)?),
        }
    }
}

/// A scenario on a gateway that runs already.
pub(super) fn prepare_scenario(
    scenario: Scenario,
    gateway: Gateway,
) -> Result<Prepared, BenchError> {
    own(gateway, &scenario_path(scenario), |body| {
        let value = json::parse_str(body)?;
        match difference(&scenario.answer(), &value, Leniency::EXACT) {
            None => Ok(()),
            Some(place) => Err(WrongAnswer::Differs(place)),
        }
    })
}

/// What is wrong with an answer of the gateway.
#[derive(Debug, thiserror::Error)]
enum WrongAnswer {
    #[error(transparent)]
    NoJson(#[from] DecodeError),
    #[error("it has {0} items instead of {items}", items = items::ITEMS)]
    Items(usize),
    #[error("it differs at `{0}`")]
    Differs(String),
}

/// Where a scenario is asked for: a route, or its script to `/q`.
fn scenario_path(scenario: Scenario) -> String {
    match scenario {
        Scenario::D => "/myapi".to_owned(),
        other => format!("/q?s={}", encoded(other.script())),
    }
}

fn own(
    gateway: Gateway,
    path: &str,
    check: impl Fn(&str) -> Result<(), WrongAnswer>,
) -> Result<Prepared, BenchError> {
    let target = Target::own(gateway.address(), path)?;
    let (address, status, body) = first_answer(&target)?;
    let text = String::from_utf8_lossy(&body);
    if status != StatusCode::OK {
        let start: String = text.chars().take(300).collect();
        return Err(failed(format!("the gateway answers {path} with {status}: {start}")));
    }
    check(&text)
        .map_err(|reason| failed(format!("the gateway's answer to {path} is wrong: {reason}")))?;
    Ok(Prepared { target: target.expecting(body), address, gateway: Some(gateway) })
}

/// The first address that answers, and what it says.
fn first_answer(target: &Target) -> Result<(SocketAddr, StatusCode, Bytes), BenchError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| usage(format!("cannot start: {error}")))?;
    let mut reason = String::new();
    for address in &target.addresses {
        match runtime.block_on(fetch(target, *address, FIRST_PATIENCE)) {
            Ok((status, body)) => return Ok((*address, status, body)),
            Err(Failure::Connect(error)) => reason = error,
            Err(Failure::Transport(error)) => {
                return Err(usage(format!("`{}` gives no HTTP answer: {error}", target.url)));
            }
            Err(_) => {
                let seconds = FIRST_PATIENCE.as_secs();
                return Err(usage(format!("`{}` does not answer within {seconds} s", target.url)));
            }
        }
    }
    Err(usage(format!("cannot reach `{}`: {reason}", target.url)))
}

/// Text as part of a query.
fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
