//! All routes of a catalog compiled into a tree of path segments.
//!
//! In, at load: the routes ([`RouteSpec`]) in load order. In, per request: method and raw path. Out:
//! the one path template that answers, with what its tokens captured ([`PathMatch`]), the methods
//! that would be allowed, or nothing. Literal segments are found by hash, so the cost of a request
//! does not grow with the number of routes; a node is visited once at most.
//!
//! Order among templates that match the same path: compared segment by segment from the left,
//! literal before mixed before token before `*`; equal ones by load order (SRV-11). Only
//! templates that have the method take part, as each method is a table of its own. The chosen path
//! is final: if none of its variants accepts the query, no other path is tried.

use std::{cmp::Ordering, collections::HashMap};

use qlio_data::{Object, Value};
use smallvec::SmallVec;

use super::{
    Method,
    segment::{SegmentClass, SegmentPattern},
    template::RouteTemplate,
    variant::{self, Chosen, MissingParameters, Variant},
};
use qlio_data::percent::{self, MalformedEncoding};

/// A route as the loader hands it in.
#[derive(Debug, Clone)]
pub struct RouteSpec<Id> {
    /// The caller's name for the route.
    pub id: Id,
    /// The full template: path and query part.
    pub path: String,
    /// The method it is bound to.
    pub method: Method,
    /// `with optional params`.
    pub has_optional_params: bool,
    /// `using defaults`: token name to value.
    pub defaults: Vec<(String, Value)>,
}

/// Something wrong with one of the routes handed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteFault {
    /// Which of the routes, counted from 0 in load order.
    pub index: usize,
    /// Byte offset in the template text.
    pub offset: usize,
    /// What is wrong, in words.
    pub message: String,
    /// How bad it is.
    pub kind: RouteFaultKind,
}

/// The kinds of faults of routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteFaultKind {
    /// The template cannot be read; the route was left out.
    Malformed,
    /// An earlier route has the same path and method; the route was left out.
    Duplicate,
    /// The route is served, but probably not as its author thinks.
    Suspicious,
}

/// The compiled routes of a catalog.
#[derive(Debug)]
pub struct Matcher<Id> {
    nodes: Vec<Node>,
    entries: Vec<Entry>,
    paths: Vec<RoutePath<Id>>,
}

/// What a request path leads to.
#[derive(Debug)]
pub enum Lookup<'m, 'p, Id> {
    /// A path template that has the method.
    Found(PathMatch<'m, 'p, Id>),
    /// The path exists, but not with this method.
    MethodNotAllowed {
        /// The methods it exists with, each once, in the order of [`Method::ALL`].
        allow: Vec<Method>,
    },
    /// No template matches.
    Unknown,
}

/// The path template that answers a request.
#[derive(Debug)]
pub struct PathMatch<'m, 'p, Id> {
    variants: &'m [Variant<Id>],
    entry: &'m Entry,
    captures: Vec<&'p str>,
}

impl<'m, Id> PathMatch<'m, '_, Id> {
    /// The variant for this query, with the route layer of its scope; `None` if no variant accepts
    /// the query, which is a 400.
    ///
    /// # Errors
    /// No variant accepts the query, or a captured value has malformed percent-encoding; both are a 400.
    pub fn choose(&self, query: &Object) -> Result<Chosen<'m, Id>, NotChosen> {
        let mut captured = Vec::with_capacity(self.captures.len());
        for (token, raw) in self.entry.tokens.iter().zip(&self.captures) {
            let value = percent::decode(raw).map_err(NotChosen::MalformedPath)?;
            captured.push((token.as_str(), value.into_owned()));
        }
        let variant = variant::choose(self.variants, query).map_err(NotChosen::Missing)?;
        Ok(Chosen {
            id: &variant.id,
            scope: variant.scope(captured.into_iter(), &self.entry.absent, query),
        })
    }
}

/// No route of a path answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotChosen {
    /// A captured value has malformed percent-encoding.
    MalformedPath(MalformedEncoding),
    /// Each variant wants more query parameters.
    Missing(MissingParameters),
}

/// The routes of one path part, by method.
#[derive(Debug)]
struct RoutePath<Id> {
    variants: [Vec<Variant<Id>>; Method::ALL.len()],
    templates: [Vec<RouteTemplate>; Method::ALL.len()],
}

/// One shape of a path part, standing at the node where it ends.
#[derive(Debug)]
struct Entry {
    path: usize,
    classes: Vec<SegmentClass>,
    tokens: Vec<String>,
    absent: Vec<String>,
    /// Load order of the path part.
    order: usize,
}

#[derive(Debug, Default)]
struct Node {
    literals: HashMap<Box<str>, usize>,
    mixed: Vec<(SegmentPattern, usize)>,
    token: Option<usize>,
    /// Entries that end here.
    ends: Vec<usize>,
    /// Entries with a trailing `*` here; longer prefixes first.
    rests: Vec<(SegmentPattern, usize)>,
}

impl<Id> Matcher<Id> {
    /// Compiles routes in load order. Faulty and duplicate routes are left out and reported; all
    /// others work.
    pub fn compile(specs: impl IntoIterator<Item = RouteSpec<Id>>) -> (Self, Vec<RouteFault>) {
        let mut matcher =
            Self { nodes: vec![Node::default()], entries: Vec::new(), paths: Vec::new() };
        let mut paths = HashMap::new();
        let mut faults = Vec::new();
        for (index, spec) in specs.into_iter().enumerate() {
            let (template, found) = RouteTemplate::parse(&spec.path);
            faults.extend(found.into_iter().map(|fault| RouteFault {
                index,
                offset: fault.offset,
                message: fault.message,
                kind: if fault.is_fatal {
                    RouteFaultKind::Malformed
                } else {
                    RouteFaultKind::Suspicious
                },
            }));
            if let Some(template) = template
                && !matcher.add(index, spec, template, &mut paths)
            {
                let message = "Route already defined".to_owned();
                faults.push(RouteFault {
                    index,
                    offset: 0,
                    message,
                    kind: RouteFaultKind::Duplicate,
                });
            }
        }
        (matcher, faults)
    }

    /// Finds the path template that answers a request. `path` is the raw path of the request
    /// target, without query.
    pub fn find<'p>(&self, method: &hyper::Method, path: &'p str) -> Lookup<'_, 'p, Id> {
        let Some(segments) = split(path) else { return Lookup::Unknown };
        if let Some(method) = Method::of_request(method) {
            let accepts =
                |entry: &Entry| !self.paths[entry.path].variants[method as usize].is_empty();
            let search = Search { matcher: self, path, segments: &segments, accepts };
            if let Some((entry, captures)) = search.best(0, 0, &mut Vec::new()) {
                let entry = &self.entries[entry];
                let variants = self.paths[entry.path].variants[method as usize].as_slice();
                return Lookup::Found(PathMatch { variants, entry, captures });
            }
        }
        let allow = self.methods(path);
        if allow.is_empty() { Lookup::Unknown } else { Lookup::MethodNotAllowed { allow } }
    }

    /// The methods whose templates match the path, as `OPTIONS` answers them.
    pub fn methods(&self, path: &str) -> Vec<Method> {
        let Some(segments) = split(path) else { return Vec::new() };
        Method::ALL
            .into_iter()
            .filter(|method| {
                let accepts =
                    |entry: &Entry| !self.paths[entry.path].variants[*method as usize].is_empty();
                let search = Search { matcher: self, path, segments: &segments, accepts };
                search.best(0, 0, &mut Vec::new()).is_some()
            })
            .collect()
    }

    /// The number of routes.
    pub fn len(&self) -> usize {
        self.paths.iter().flat_map(|path| &path.variants).map(Vec::len).sum()
    }

    /// Whether there are no routes.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// Adds a route; false if it is a duplicate.
    fn add(
        &mut self,
        index: usize,
        spec: RouteSpec<Id>,
        template: RouteTemplate,
        paths: &mut HashMap<String, usize>,
    ) -> bool {
        let method = spec.method as usize;
        let path = if let Some(path) = paths.get(&template.path) {
            *path
        } else {
            let path = self.paths.len();
            paths.insert(template.path.clone(), path);
            self.paths
                .push(RoutePath { variants: Default::default(), templates: Default::default() });
            self.grow(path, index, &template);
            path
        };
        let known = &mut self.paths[path];
        if known.templates[method].iter().any(|other| other.has_same_query(&template)) {
            return false;
        }
        known.variants[method].push(Variant {
            id: spec.id,
            keys: template.query.clone(),
            defaults: spec.defaults,
            has_optional_params: spec.has_optional_params,
            order: index,
        });
        known.templates[method].push(template);
        true
    }

    /// Makes the nodes of a new path part.
    fn grow(&mut self, path: usize, order: usize, template: &RouteTemplate) {
        for shape in &template.shapes {
            let mut at = 0;
            for pattern in &shape.segments {
                at = self.child(at, pattern);
            }
            let entry = self.entries.len();
            self.entries.push(Entry {
                path,
                classes: shape.classes(),
                tokens: shape.tokens.clone(),
                absent: shape.absent.clone(),
                order,
            });
            let node = &mut self.nodes[at];
            if let Some(prefix) = &shape.rest {
                let length = prefix.literal_len();
                let place = node.rests.partition_point(|(other, _)| other.literal_len() >= length);
                node.rests.insert(place, (prefix.clone(), entry));
            } else {
                let entries = &self.entries;
                let rank = |entry: usize| (entries[entry].absent.len(), entries[entry].order);
                let place = node.ends.partition_point(|other| rank(*other) <= rank(entry));
                node.ends.insert(place, entry);
            }
        }
    }

    fn child(&mut self, at: usize, pattern: &SegmentPattern) -> usize {
        let next = self.nodes.len();
        let node = &mut self.nodes[at];
        let child = match (pattern.as_literal(), pattern.class()) {
            (Some(text), _) => *node.literals.entry(text.into()).or_insert(next),
            (None, SegmentClass::Token) => *node.token.get_or_insert(next),
            (None, _) => {
                let known = node.mixed.iter().find(|(other, _)| other == pattern);
                let child = known.map_or(next, |(_, child)| *child);
                if child == next {
                    node.mixed.push((pattern.clone(), next));
                }
                child
            }
        };
        if child == next {
            self.nodes.push(Node::default());
        }
        child
    }
}

/// As many segments as most paths have; more need memory of their own.
const SEGMENTS_USUAL: usize = 8;

/// The segments of a raw path; `None` if it does not begin with `/`.
fn split(path: &str) -> Option<SmallVec<[(usize, &str); SEGMENTS_USUAL]>> {
    let body = path.strip_prefix('/')?;
    let mut offset = 1;
    Some(
        body.split('/')
            .map(|segment| {
                let start = offset;
                offset += segment.len() + 1;
                (start, segment)
            })
            .collect(),
    )
}

/// One walk through the tree. The depth of recursion is that of the tree, which
/// [`SEGMENTS_MAX`](super::template::SEGMENTS_MAX) bounds, whatever the request path is.
struct Search<'m, 'p, 's, Id, A> {
    matcher: &'m Matcher<Id>,
    path: &'p str,
    segments: &'s [(usize, &'p str)],
    /// Whether an entry has the method asked for.
    accepts: A,
}

impl<'p, Id, A: Fn(&Entry) -> bool> Search<'_, 'p, '_, Id, A> {
    /// The best entry below a node for the segments from `depth` on.
    fn best(
        &self,
        node: usize,
        depth: usize,
        captures: &mut Vec<&'p str>,
    ) -> Option<(usize, Vec<&'p str>)> {
        let node = &self.matcher.nodes[node];
        let Some((start, segment)) = self.segments.get(depth).copied() else {
            return self.first_accepted(&node.ends, captures);
        };
        if let Some(child) = node.literals.get(segment)
            && let Some(found) = self.best(*child, depth + 1, captures)
        {
            return Some(found);
        }
        // One trailing slash is tolerated where a template ends without it.
        if segment.is_empty()
            && depth > 0
            && depth + 1 == self.segments.len()
            && let Some(found) = self.first_accepted(&node.ends, captures)
        {
            return Some(found);
        }
        let before = captures.len();
        let mut best: Option<(usize, Vec<&'p str>)> = None;
        for (pattern, child) in &node.mixed {
            if pattern.matches(segment, captures)
                && let Some(found) = self.best(*child, depth + 1, captures)
                && best.as_ref().is_none_or(|(best, _)| self.compare(found.0, *best).is_lt())
            {
                best = Some(found);
            }
            captures.truncate(before);
        }
        if best.is_some() {
            return best;
        }
        if let Some(child) = node.token
            && !segment.is_empty()
        {
            captures.push(segment);
            let found = self.best(child, depth + 1, captures);
            captures.truncate(before);
            if found.is_some() {
                return found;
            }
        }
        for (prefix, entry) in &node.rests {
            let is_match = prefix.matches_prefix(&self.path[start..], captures).is_some();
            let found = (is_match && (self.accepts)(&self.matcher.entries[*entry]))
                .then(|| (*entry, captures.clone()));
            captures.truncate(before);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn first_accepted(
        &self,
        entries: &[usize],
        captures: &[&'p str],
    ) -> Option<(usize, Vec<&'p str>)> {
        let entry = entries.iter().find(|entry| (self.accepts)(&self.matcher.entries[**entry]))?;
        Some((*entry, captures.to_vec()))
    }

    fn compare(&self, left: usize, right: usize) -> Ordering {
        let (left, right) = (&self.matcher.entries[left], &self.matcher.entries[right]);
        left.classes.cmp(&right.classes).then(left.order.cmp(&right.order))
    }
}

#[cfg(test)]
#[path = "matcher_tests.rs"]
mod tests;
