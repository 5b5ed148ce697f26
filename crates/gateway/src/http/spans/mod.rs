//! Traces that other servers are part of: which request is part of which, what is recorded, and where that goes.
//!
//! ```text
//! head ─ context ─▶ TraceContext ─▶ run, calls (engine)
//!                        │ sampled
//!                        ▼
//!                   Recording ─ events of the run ─▶ spans ─ queue ─▶ exporter thread ─▶ collector
//! ```
//!
//! Whether a request is recorded is decided before its run. One that is not has no watcher, makes no span and reads
//! no clock; without a collector and without anybody whose traces are taken up, there is no [`Traces`] to ask
//! (TEL-2). Nothing here waits: spans that find the queue full are counted.

mod context;
#[expect(clippy::disallowed_methods, reason = "sending has a thread of its own, which waits")]
mod exporter;
mod queue;
#[expect(clippy::disallowed_methods, reason = "spans say when something was")]
mod recording;
mod settings;
mod wire;

use std::{net::IpAddr, sync::Arc};

use hyper::HeaderMap;
use qlio_engine::trace::{TraceContext, new_span_id, new_trace_id};

pub(crate) use self::{
    exporter::Exporter,
    queue::SpanCounts,
    recording::Recording,
    settings::{
        ExportProtocol, Fraction, Sampler, TraceSettings, TraceTrust, is_endpoint,
        is_list_of_headers, is_list_of_pairs,
    },
};
use super::forwarded::Networks;

/// Decides of which traces requests are part.
#[derive(Debug)]
pub struct Traces {
    accept: TraceTrust,
    proxies: Arc<Networks>,
    sampler: Sampler,
    /// Traces whose id is below it, in its lower half without the last bit, are recorded.
    below: u64,
    exporter: Option<Exporter>,
}

impl Traces {
    /// Nothing if there can be no traces: none is taken up, and none is recorded.
    pub fn new(
        settings: &TraceSettings,
        proxies: Arc<Networks>,
        exporter: Option<Exporter>,
    ) -> Option<Self> {
        let takes_up = match settings.accept {
            TraceTrust::All => true,
            TraceTrust::Trusted => !proxies.is_empty(),
            TraceTrust::None => false,
        };
        if !takes_up && exporter.is_none() {
            return None;
        }
        let below = share_of_ids(settings.ratio.get());
        let TraceSettings { accept, sampler, .. } = *settings;
        Some(Self { accept, proxies, sampler, below, exporter })
    }

    /// The trace that a request is part of, and its record if it is recorded, in a box, so that what is not recorded
    /// moves no room for one. `peer` is who has connected.
    pub fn begin(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> Option<(Arc<TraceContext>, Option<Box<Recording>>)> {
        let is_believed = match self.accept {
            TraceTrust::All => true,
            TraceTrust::Trusted => self.proxies.contain(peer),
            TraceTrust::None => false,
        };
        let parent = if is_believed { context::of_headers(headers) } else { None };
        let Some(exporter) = &self.exporter else {
            // What is not recorded is no step of the trace: it goes on as it came.
            return parent.map(|parent| (Arc::new(parent), None));
        };
        let trace_id = parent.as_ref().map_or_else(new_trace_id, |parent| parent.trace_id);
        let is_sampled = self.samples(trace_id, parent.as_ref());
        let parent = match parent {
            Some(parent) if !is_sampled => {
                return Some((Arc::new(TraceContext { is_sampled, ..parent }), None));
            }
            parent => parent,
        };
        let parent_id = parent.as_ref().map(|parent| parent.span_id);
        let state = parent.and_then(|parent| parent.state);
        let context = TraceContext { trace_id, span_id: new_span_id(), is_sampled, state };
        let context = Arc::new(context);
        // Upstreams hear of one that is not recorded as well, or they would record their part of it.
        let begin = || Box::new(Recording::begin(&context, parent_id, exporter.clone()));
        let recording = is_sampled.then(begin);
        Some((context, recording))
    }

    fn samples(&self, trace_id: u128, parent: Option<&TraceContext>) -> bool {
        #[expect(clippy::cast_possible_truncation, reason = "the lower half decides")]
        let by_ratio = (trace_id as u64) >> 1 < self.below;
        match (self.sampler, parent) {
            (Sampler::AlwaysOn, _) | (Sampler::ParentOn, None) => true,
            (Sampler::AlwaysOff, _) | (Sampler::ParentOff, None) => false,
            (Sampler::Ratio, _) | (Sampler::ParentRatio, None) => by_ratio,
            (Sampler::ParentOn | Sampler::ParentOff | Sampler::ParentRatio, Some(parent)) => {
                parent.is_sampled
            }
        }
    }

    /// What was sent and what was not, if spans are sent.
    pub fn counts(&self) -> Option<SpanCounts> {
        self.exporter.as_ref().map(Exporter::counts)
    }
}

/// How many of the 2^63 halves of ids are the part of all.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a part of very many"
)]
fn share_of_ids(ratio: f64) -> u64 {
    (ratio * (1_u64 << 63) as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(sampler: Sampler, ratio: f64, accept: TraceTrust) -> Traces {
        let ratio = Fraction::new(ratio).expect("a part");
        let settings = TraceSettings { accept, sampler, ratio, ..TraceSettings::default() };
        let proxies = Arc::new(Networks::new(&["10.0.0.0/8".to_owned()]));
        let exporter = Exporter::nowhere(1_000_000);
        Traces::new(&settings, proxies, Some(exporter)).expect("there is an exporter")
    }

    fn sent(flags: &str) -> HeaderMap {
        let value = format!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-{flags}");
        let value = hyper::header::HeaderValue::try_from(value).expect("text");
        [(qlio_engine::trace::TRACEPARENT, value)].into_iter().collect()
    }

    #[test]
    fn a_trace_is_taken_up_from_those_who_are_trusted() {
        let [proxy, stranger]: [IpAddr; 2] =
            ["10.1.1.1", "192.0.2.1"].map(|text| text.parse().expect("an address"));
        for (accept, peer, is_taken_up) in [
            (TraceTrust::Trusted, proxy, true),
            (TraceTrust::Trusted, stranger, false),
            (TraceTrust::All, stranger, true),
            (TraceTrust::None, proxy, false),
        ] {
            let traces = traces(Sampler::AlwaysOn, 1.0, accept);
            let (context, recording) = traces.begin(peer, &sent("00")).expect("recorded");
            let is_same = context.trace_id == 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c;
            assert_eq!((is_same, recording.is_some()), (is_taken_up, true), "{accept:?} {peer}");
        }
    }

    #[test]
    fn samplers_decide_as_they_are_called() {
        let peer: IpAddr = "10.1.1.1".parse().expect("an address");
        let none = HeaderMap::new();
        let (yes, no) = (sent("01"), sent("00"));
        for (sampler, ratio, expected) in [
            (Sampler::AlwaysOn, 0.0, [true, true, true]),
            (Sampler::AlwaysOff, 1.0, [false, false, false]),
            (Sampler::ParentOn, 0.0, [true, true, false]),
            (Sampler::ParentOff, 1.0, [false, true, false]),
            (Sampler::Ratio, 1.0, [true, true, true]),
            (Sampler::Ratio, 0.0, [false, false, false]),
            (Sampler::ParentRatio, 0.0, [false, true, false]),
            (Sampler::ParentRatio, 1.0, [true, true, false]),
        ] {
            let traces = traces(sampler, ratio, TraceTrust::Trusted);
            let is_recorded = [&none, &yes, &no].map(|headers| {
                traces.begin(peer, headers).is_some_and(|(_, recording)| recording.is_some())
            });
            assert_eq!(is_recorded, expected, "{sampler:?} {ratio}");
        }
        let part = traces(Sampler::Ratio, 0.25, TraceTrust::None);
        let is_recorded = |_: &i32| {
            let begun = part.begin(peer, &none).expect("part of a trace of its own");
            assert_eq!(begun.0.is_sampled, begun.1.is_some());
            begun.1.is_some()
        };
        let count = (0..4000).filter(is_recorded).count();
        assert!((700..1300).contains(&count), "{count} of 4000");
    }

    #[test]
    fn what_is_not_recorded_goes_on_under_the_id_of_its_caller() {
        let peer: IpAddr = "10.1.1.1".parse().expect("an address");
        let traces = traces(Sampler::ParentOn, 1.0, TraceTrust::Trusted);
        let (context, recording) = traces.begin(peer, &sent("00")).expect("part of a trace");
        assert!(recording.is_none() && !context.is_sampled);
        assert_eq!(context.span_id, 0xb7ad_6b71_6920_3331);
    }
    #[test]
    fn servers_with_one_ratio_decide_alike() {
        let sampled = |trace_id| {
            let traces = traces(Sampler::Ratio, 0.5, TraceTrust::None);
            traces.samples(trace_id, None)
        };
        assert!(sampled(1 << 64) && sampled(u128::MAX << 64 | 7));
        assert!(!sampled(u128::from(u64::MAX)) && !sampled(1 << 63));
    }

    #[test]
    fn there_are_no_traces_where_none_can_be() {
        let make = |accept, proxies: &[&str]| {
            let settings = TraceSettings { accept, ..TraceSettings::default() };
            let proxies: Vec<String> = proxies.iter().map(|text| (*text).to_owned()).collect();
            Traces::new(&settings, Arc::new(Networks::new(&proxies)), None).is_some()
        };
        assert!(!make(TraceTrust::Trusted, &[]) && !make(TraceTrust::None, &["10.0.0.0/8"]));
        assert!(make(TraceTrust::All, &[]) && make(TraceTrust::Trusted, &["10.0.0.0/8"]));
    }
}
