//! The packets of a trace that fit into a header (TRC-5).
//!
//! In: packets, one by one. Out: the value of a `Link` header of at most [`BYTES_MAX`]. What does not fit goes in
//! this order, the oldest first: bodies of answers; exchanges, each with its request and its answer, since half of
//! one would look as if it never ended; values and warnings; and only when a script has so many statements that
//! there is nothing else left, their marks. What is dropped while collecting is what would be dropped in the end,
//! since packets only become more; so no more than one packet beyond the limit is ever held.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use qlio_data::{Object, Value, codec::json, percent};
use qlio_engine::event::EventKind;

use crate::http::packet::Packet;

/// Bytes of the header. Proxies often have a buffer of 4 KiB for all headers of an answer; the others need some
/// room, too.
pub(super) const BYTES_MAX: usize = 3584;

const BEGIN: &str = "<data:application/json,%5B";
const END: &str = "%5D>;rel=execstate";
const COMMA: &str = "%2C";
/// `{"type":"truncated"}`, encoded.
const TRUNCATED: &str = "%7B%22type%22%3A%22truncated%22%7D";

/// The packets that still fit.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// By the order in which they came.
    packets: BTreeMap<u64, KeptPacket>,
    count: u64,
    bytes: usize,
    is_truncated: bool,
    /// Packets that hold the body of an answer.
    with_body: VecDeque<u64>,
    exchanges: VecDeque<String>,
    /// The packets of each exchange.
    by_exchange: HashMap<String, Vec<u64>>,
    /// Exchanges whose packets are not kept.
    dropped: HashSet<String>,
    /// Values and warnings.
    others: VecDeque<u64>,
    /// Statements and the script itself.
    marks: VecDeque<u64>,
}

#[derive(Debug)]
struct KeptPacket {
    encoded: String,
    without_body: Option<String>,
}

/// What a packet belongs to.
enum Part {
    Exchange(String),
    Mark,
    Other,
}

impl Kept {
    /// Takes a packet.
    pub(super) fn push(&mut self, Packet { name, data }: Packet) {
        let is_event = data.member("type").as_str() == Some(&*name);
        let part = if is_event { part_of(&name, &data) } else { Part::Other };
        let data = if is_event {
            data
        } else {
            // The value of a variable, which does not say what it is.
            let packet: Object =
                [("type", Value::from(name)), ("data", data)].into_iter().collect();
            Value::object(packet)
        };
        let number = self.count;
        self.count += 1;
        let encoded = encode(&data);
        let mut without_body = None;
        match part {
            Part::Exchange(id) if self.dropped.contains(&id) => return,
            Part::Exchange(id) => {
                // Short bodies take less room than the mark that they are missing.
                without_body = bare(&data).filter(|bare| bare.len() < encoded.len());
                if without_body.is_some() {
                    self.with_body.push_back(number);
                }
                self.by_exchange
                    .entry(id)
                    .or_insert_with_key(|id| {
                        self.exchanges.push_back(id.clone());
                        Vec::new()
                    })
                    .push(number);
            }
            Part::Mark => self.marks.push_back(number),
            Part::Other => self.others.push_back(number),
        }
        self.bytes += encoded.len() + COMMA.len();
        self.packets.insert(number, KeptPacket { encoded, without_body });
        self.shrink();
    }

    fn shrink(&mut self) {
        let fixed = BEGIN.len() + END.len() + TRUNCATED.len();
        while fixed + self.bytes > BYTES_MAX {
            self.is_truncated = true;
            if let Some(number) = self.with_body.pop_front() {
                self.drop_body(number);
            } else if let Some(id) = self.exchanges.pop_front() {
                let numbers = self.by_exchange.remove(&id).unwrap_or_default();
                for number in numbers {
                    self.drop_packet(number);
                }
                self.dropped.insert(id);
            } else if let Some(number) = self.others.pop_front() {
                self.drop_packet(number);
            } else if let Some(number) = self.marks.pop_front() {
                self.drop_packet(number);
            } else {
                return;
            }
        }
    }

    fn drop_body(&mut self, number: u64) {
        let Some(packet) = self.packets.get_mut(&number) else { return };
        let Some(bare) = packet.without_body.take() else { return };
        self.bytes = self.bytes + bare.len() - packet.encoded.len();
        packet.encoded = bare;
    }

    fn drop_packet(&mut self, number: u64) {
        if let Some(packet) = self.packets.remove(&number) {
            self.bytes -= packet.encoded.len() + COMMA.len();
        }
    }

    /// The value of the header; `None` if there is nothing to tell.
    pub(super) fn into_link(self) -> Option<String> {
        let is_truncated = self.is_truncated;
        if self.packets.is_empty() && !is_truncated {
            return None;
        }
        let mut link = String::with_capacity(self.bytes + 128);
        link.push_str(BEGIN);
        let packets = self.packets.values().map(|packet| packet.encoded.as_str());
        for (position, packet) in packets.chain(is_truncated.then_some(TRUNCATED)).enumerate() {
            if position > 0 {
                link.push_str(COMMA);
            }
            link.push_str(packet);
        }
        link.push_str(END);
        Some(link)
    }
}

fn part_of(name: &str, data: &Value) -> Part {
    let is = |kind: EventKind| kind.name() == name;
    if is(EventKind::Request) || is(EventKind::Response) || is(EventKind::RequestFailed) {
        let id = data.member("id");
        return Part::Exchange(id.as_str().unwrap_or_default().to_owned());
    }
    if is(EventKind::Warning) { Part::Other } else { Part::Mark }
}

/// An answer without its body; `None` if it has none.
fn bare(data: &Value) -> Option<String> {
    let Value::Object(object) = data else { return None };
    let is_answer = matches!(data.member("status"), Value::Number(_));
    let has_body = data.member("body").as_str().is_some_and(|body| !body.is_empty());
    if !is_answer || !has_body {
        return None;
    }
    let mut bare = Object::clone(object);
    bare.insert("body", Value::from(""));
    bare.insert("bodyTruncated", Value::Bool(true));
    Some(encode(&Value::object(bare)))
}

fn encode(value: &Value) -> String {
    percent::encode(&json::to_string(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(link: &str) -> Vec<String> {
        let encoded = link.strip_prefix("<data:application/json,").expect("a data URI");
        let encoded = encoded.strip_suffix(">;rel=execstate").expect("a relation");
        let text = percent::decode(encoded).expect("well encoded");
        let list = json::parse_str(&text).expect("a list");
        let elements = list.elements().expect("a list");
        elements.iter().map(json::to_string).collect()
    }

    fn variable(name: &str, bytes: usize) -> Packet {
        Packet { name: name.into(), data: Value::from("x".repeat(bytes)) }
    }

    fn of_kind(kind: EventKind, members: &[(&str, Value)]) -> Packet {
        let mut data: Object = members.iter().cloned().collect();
        data.insert("type", Value::from(kind.name()));
        Packet { name: kind.name().into(), data: Value::object(data) }
    }

    fn request(id: &str) -> Packet {
        of_kind(EventKind::Request, &[("id", Value::from(id))])
    }

    fn answer(id: &str, bytes: usize) -> Packet {
        let body = Value::from("y".repeat(bytes));
        let members = [("id", Value::from(id)), ("status", Value::int(200)), ("body", body)];
        of_kind(EventKind::Response, &members)
    }

    fn mark(line: i64) -> Packet {
        of_kind(EventKind::InFlight, &[("line", Value::int(line))])
    }

    const CUT: &str = r#"{"type":"truncated"}"#;

    #[test]
    fn bodies_go_first_the_oldest_of_them_before_others() {
        let mut kept = Kept::default();
        kept.push(variable("a", 500));
        kept.push(request("1"));
        kept.push(answer("1", 1500));
        kept.push(answer("2", 1500));
        kept.push(variable("b", 500));
        let link = kept.into_link().expect("packets");
        assert!(link.len() <= BYTES_MAX);
        let list = packets(&link);
        assert!(list[0].starts_with(r#"{"type":"a""#));
        assert_eq!(
            list[2],
            r#"{"id":"1","status":200,"body":"","type":"statement-response","bodyTruncated":true}"#
        );
        assert!(list[3].contains("yyy"), "the newer body still fits");
        assert_eq!(list.last().map(String::as_str), Some(CUT));
    }

    #[test]
    fn exchanges_go_with_both_halves_and_marks_stay() {
        let mut kept = Kept::default();
        kept.push(mark(1));
        kept.push(request("1"));
        kept.push(request("2"));
        kept.push(variable("a", 3000));
        kept.push(answer("1", 0));
        kept.push(answer("2", 0));
        kept.push(mark(2));
        let list = packets(&kept.into_link().expect("packets"));
        let shown =
            |id: &str| list.iter().filter(|one| one.contains(&format!("\"id\":\"{id}\""))).count();
        assert_eq!((shown("1"), shown("2")), (0, 2), "{list:?}");
        assert_eq!(list.iter().filter(|one| one.contains("in-flight")).count(), 2, "{list:?}");
        assert!(list.iter().any(|one| one.starts_with(r#"{"type":"a""#)), "{list:?}");
        assert_eq!(list.last().map(String::as_str), Some(CUT));
    }

    #[test]
    fn a_value_goes_before_any_mark() {
        let mut kept = Kept::default();
        kept.push(variable("a", 2000));
        for line in 0..15 {
            kept.push(mark(line));
        }
        kept.push(variable("b", 2000));
        let list = packets(&kept.into_link().expect("packets"));
        assert_eq!(list.iter().filter(|one| one.contains("in-flight")).count(), 15, "{list:?}");
    }

    #[test]
    fn marks_alone_keep_to_the_limit() {
        let mut kept = Kept::default();
        for line in 0..1000 {
            kept.push(mark(line));
        }
        let link = kept.into_link().expect("packets");
        assert!(link.len() <= BYTES_MAX);
        let list = packets(&link);
        assert!(list[list.len() - 2].contains("\"line\":999"), "the newest stay: {list:?}");
    }

    #[test]
    fn a_header_of_exactly_the_limit_is_whole() {
        let link_of = |bytes| {
            let mut kept = Kept::default();
            kept.push(variable("a", bytes));
            kept.into_link().expect("a packet")
        };
        let room = TRUNCATED.len() + COMMA.len();
        let most = BYTES_MAX - room - link_of(0).len();
        assert_eq!(link_of(most).len(), BYTES_MAX - room);
        assert_eq!(packets(&link_of(most + 1)), [CUT]);
        assert_eq!(Kept::default().into_link(), None);
    }
}
