//! Links in the head of an answer: which one leads to the next page, and whether it may be followed (PAG-7).
//!
//! In: values of `Link` headers (RFC 8288), and the addresses they stand behind. Out: an absolute address, under
//! the rules that redirects have.

use super::{
    Guard, Transport,
    error::{ErrorKind, Fault},
    redirect::{clean, resolve},
    target::Target,
};

/// Where a link leads.
#[derive(Debug)]
pub(crate) struct Link {
    /// The absolute address.
    pub(crate) uri: String,
    /// It is of another origin than the first request of its chain: what that one may know, this one may not.
    pub(crate) is_abroad: bool,
}

/// Why a link is not followed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkFault {
    /// It is no address that can be requested.
    Unusable,
    /// It leads from `https` to `http`.
    Downgrade,
    /// It leads to a host that neither the table nor `egress.allow` names.
    Abroad {
        /// The host.
        host: String,
    },
}

impl Transport {
    /// Where a link leads that stands in the answer of `current`, in a chain that began at `first`.
    pub(crate) fn follow_link(
        &self,
        first: &str,
        current: &str,
        reference: &str,
        guard: &Guard,
    ) -> Result<Link, LinkFault> {
        let target = |uri: &str| Target::take(&mut uri.to_owned(), &self.sites);
        let unusable = |_: Fault| LinkFault::Unusable;
        let first = target(first).map_err(unusable)?;
        let current = target(current).map_err(unusable)?;
        let reference = clean(reference.as_bytes());
        let next = target(&resolve(&current, &reference)).map_err(unusable)?;
        if current.site.is_https && !next.site.is_https {
            return Err(LinkFault::Downgrade);
        }
        self.egress.judge_redirect(&first, &next, guard).map_err(|fault| match fault.kind {
            ErrorKind::RedirectAbroad { host } => LinkFault::Abroad { host: host.into() },
            _ => LinkFault::Unusable,
        })?;
        let is_abroad = next.site.origin != first.site.origin;
        Ok(Link { uri: next.uri_text().to_owned(), is_abroad })
    }
}

/// The reference of the first link to the next page.
pub(crate) fn next_link<'h>(values: impl Iterator<Item = &'h [u8]>) -> Option<String> {
    let mut links = values.flat_map(|value| Links { rest: value });
    links.find(Parsed::is_next).map(|link| String::from_utf8_lossy(link.reference).into_owned())
}

/// One link of a header.
struct Parsed<'h> {
    reference: &'h [u8],
    /// The first `rel`, without quotes.
    relations: Option<Vec<u8>>,
    /// It is about something else than the answer.
    has_anchor: bool,
}

impl Parsed<'_> {
    fn is_next(&self) -> bool {
        let relations = self.relations.as_deref().unwrap_or_default();
        let is_next = |relation: &[u8]| relation.eq_ignore_ascii_case(b"next");
        !self.has_anchor && relations.split(u8::is_ascii_whitespace).any(is_next)
    }
}

/// The links of one header value; ends where it is malformed.
struct Links<'h> {
    rest: &'h [u8],
}

impl<'h> Iterator for Links<'h> {
    type Item = Parsed<'h>;

    fn next(&mut self) -> Option<Parsed<'h>> {
        let at = self.rest.iter().position(|byte| !byte.is_ascii_whitespace() && *byte != b',')?;
        self.rest = self.rest[at..].strip_prefix(b"<")?;
        let reference = self.until(|byte| byte == b'>');
        self.rest = self.rest.strip_prefix(b">")?;
        let mut link = Parsed { reference, relations: None, has_anchor: false };
        loop {
            self.rest = self.rest.trim_ascii_start();
            let Some(rest) = self.rest.strip_prefix(b";") else { break };
            self.rest = rest.trim_ascii_start();
            let name = self.until(|byte| matches!(byte, b'=' | b';' | b',')).trim_ascii();
            let value = match self.rest.strip_prefix(b"=") {
                Some(rest) => {
                    self.rest = rest.trim_ascii_start();
                    self.parameter()
                }
                None => Vec::new(),
            };
            if name.eq_ignore_ascii_case(b"rel") {
                link.relations.get_or_insert(value);
            } else if name.eq_ignore_ascii_case(b"anchor") {
                link.has_anchor = true;
            }
        }
        // What stands before the next comma belongs to nothing.
        self.until(|byte| byte == b',');
        Some(link)
    }
}

impl<'h> Links<'h> {
    /// Takes what stands before a byte, or all.
    fn until(&mut self, is_end: impl Fn(u8) -> bool) -> &'h [u8] {
        let end = self.rest.iter().position(|byte| is_end(*byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// The value of a parameter, quoted or not.
    fn parameter(&mut self) -> Vec<u8> {
        let Some(rest) = self.rest.strip_prefix(b"\"") else {
            return self.until(|byte| matches!(byte, b';' | b',')).trim_ascii().to_vec();
        };
        let mut value = Vec::new();
        let mut bytes = rest.iter().enumerate();
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    self.rest = &rest[at + 1..];
                    return value;
                }
                b'\\' => value.extend(bytes.next().map(|(_, escaped)| *escaped)),
                byte => value.push(*byte),
            }
        }
        self.rest = &[];
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::transport::{EgressSettings, TransportSettings};

    fn next(values: &[&str]) -> Option<String> {
        next_link(values.iter().map(|value| value.as_bytes()))
    }

    #[test]
    fn the_next_page_is_found_among_links() {
        for (values, found) in [
            (&["<https://a.test/?page=2>; rel=\"next\""][..], Some("https://a.test/?page=2")),
            (&["</a>; rel=prev, </b?x,y;z>; REL=Next"], Some("/b?x,y;z")),
            (&["</a>; rel=\"last\"", "</b>; title=\"a, <b>\"; rel=\"x next\""], Some("/b")),
            (&["</a>;rel=next;rel=prev"], Some("/a")),
            (&["</a>;rel=prev;rel=next"], None),
            (&["</a>; rel=next; anchor=\"/x\", </b>; rel=next"], Some("/b")),
            (&["</a>; title=\"\\\"\"; rel = \"next\""], Some("/a")),
            (&["<>; rel=next"], Some("")),
            (&[",, </a>; rel=next"], Some("/a")),
            (&["</a>; rel"], None),
            (&["</a>"], None),
            (&["</a"], None),
            (&["nonsense, </a>; rel=next"], None),
            (&["</a>; rel=\"next"], Some("/a")),
            (&[], None),
        ] {
            assert_eq!(next(values).as_deref(), found, "{values:?}");
        }
    }

    #[test]
    fn links_have_the_rules_of_redirects() {
        let egress = EgressSettings { allow: vec!["b.test".to_owned()], ..Default::default() };
        let settings = TransportSettings { egress, ..TransportSettings::default() };
        let transport = Transport::new(settings).expect("valid");
        let follow = |current: &str, reference: &str| {
            transport
                .follow_link("https://a.test/x?p=1", current, reference, &Guard::Off)
                .map(|link| (link.uri, link.is_abroad))
        };
        let page = "https://a.test/x?p=1";
        let uri = |text: &str| text.to_owned();
        assert_eq!(follow(page, "?p=2"), Ok((uri("https://a.test/x?p=2"), false)));
        assert_eq!(follow(page, "/y#z"), Ok((uri("https://a.test/y"), false)));
        assert_eq!(follow(page, "https://b.test/"), Ok((uri("https://b.test/"), true)));
        assert_eq!(follow(page, "https://a.test:8/"), Ok((uri("https://a.test:8/"), true)));
        let abroad = Err(LinkFault::Abroad { host: uri("c.test") });
        assert_eq!(follow(page, "https://c.test/"), abroad);
        assert_eq!(follow(page, "http://a.test/x"), Err(LinkFault::Downgrade));
        assert_eq!(follow(page, "ftp://a.test/x"), Err(LinkFault::Unusable));
    }

    proptest! {
        #[test]
        fn any_header_is_read_to_its_end(value in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = next_link(std::iter::once(value.as_slice()));
        }
    }
}
