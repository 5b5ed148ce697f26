//! Plans for people and tools: stable text, JSON, DOT, SVG and yUML (`docs/reference/plan.md`),
//! with the times of a run if one was measured.
//!
//! All forms are made of the same [`Explanation`], so they cannot disagree. The same script and
//! catalog give the same bytes, made in time linear in the plan.

mod dot;
mod json;
mod latency;
mod layout;
mod levels;
mod reading;
mod source;
mod svg;
mod text;
mod yuml;

use std::collections::HashSet;

use qlio_syntax::caught::ERROR;

use crate::{
    node::{Branch, Node, NodeId, NodeKind, Plan},
    operator::{Expected, Given, Select, Source, SourceKind},
};

pub use dot::to_dot;
pub use json::to_json;
pub use latency::{Latency, Measured, NodeLatency};
pub use layout::to_layout;
pub use reading::ExplainedReading;
pub(crate) use source::known_requests;
pub use source::{ExplainedSource, RequestBound};
pub use svg::to_svg;
pub use text::to_text;
pub use yuml::to_yuml;

/// A plan as a picture: nodes in text order, edges from the dependent to what it waits for.
#[derive(Debug)]
pub struct Explanation {
    /// The nodes; the `return` node stands last.
    pub nodes: Vec<ExplainedNode>,
    /// The edges, without repetition, those of one node together.
    pub edges: Vec<Edge>,
    /// For each dependency depth, the positions of the nodes that can run in parallel; without later
    /// alternatives of fallback chains, which usually do not run, and without `return`.
    pub levels: Vec<Vec<usize>>,
    /// The positions of the nodes that call upstreams: first those that wait for no other such node,
    /// then those that wait for one of them, and so on. The time of a run is that of the slowest of
    /// each round.
    pub rounds: Vec<Vec<usize>>,
}

impl Explanation {
    /// The edges of each node, by position.
    fn edges_by_node(&self) -> Vec<&[Edge]> {
        let mut by_node: Vec<&[Edge]> = vec![&[]; self.nodes.len()];
        for edges in self.edges.chunk_by(|one, next| one.from == next.from) {
            by_node[edges[0].from] = edges;
        }
        by_node
    }

    /// All positions, nearest to `return` first; what `return` does not lead to, last.
    fn top_down(&self) -> Vec<usize> {
        let edges = self.edges_by_node();
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut is_known = vec![false; self.nodes.len()];
        for start in (0..self.nodes.len()).rev() {
            let mut next = order.len();
            if !std::mem::replace(&mut is_known[start], true) {
                order.push(start);
            }
            while let Some(position) = order.get(next).copied() {
                next += 1;
                for edge in edges[position] {
                    if !std::mem::replace(&mut is_known[edge.to], true) {
                        order.push(edge.to);
                    }
                }
            }
        }
        order
    }
}

/// One node of the picture.
#[derive(Debug)]
pub struct ExplainedNode {
    /// `n1`, `n2`, …
    pub id: String,
    /// 1-based line.
    pub line: u32,
    /// `select`, `define`, `return`, …
    pub kind: &'static str,
    /// The variable bound.
    pub assign: Option<String>,
    /// Tables read or written; variables in braces.
    pub tables: Vec<String>,
    /// How each source is read, of a select with several.
    pub readings: Vec<ExplainedReading>,
    /// The id of the node this one is a fallback of.
    pub fallback_of: Option<String>,
    /// The id of the block and the branch in it.
    pub scope: Option<(String, String)>,
    /// Tokens that must resolve.
    pub requires: Vec<String>,
    /// The statement's timeout in milliseconds.
    pub timeout_ms: Option<u64>,
    /// What it asks of its tables, where that is not all that there is to say.
    pub sources: Vec<ExplainedSource>,
    /// Nobody has written it: it stands for a missing `return`.
    pub stands_in: bool,
    /// On `return`, the status that the route says, as written.
    pub status: Option<String>,
}

impl ExplainedNode {
    /// Whether the node calls an upstream: it reads or writes a table that is no variable.
    pub fn is_remote(&self) -> bool {
        matches!(self.kind, "select" | "insert" | "update" | "delete")
            && self.tables.iter().any(|table| !table.starts_with('{'))
    }

    /// `[2] det = select from lib.det`.
    pub fn label(&self) -> String {
        let assign = self.assign.as_ref().map(|name| format!("{name} = ")).unwrap_or_default();
        let what = match self.kind {
            "define" => "[Object]".to_owned(),
            "return" => match &self.status {
                Some(status) => format!("return with status {status}"),
                None => "return".to_owned(),
            },
            "select" => format!("select from {}", self.tables.join(" ")),
            "ref" => self.tables.join(" "),
            kind if self.tables.is_empty() => kind.to_owned(),
            kind => format!("{kind} {}", self.tables.join(" ")),
        };
        let fallback = if self.fallback_of.is_some() { " (fallback)" } else { "" };
        format!("[{}] {assign}{what}{fallback}", self.line)
    }
}

/// One edge of the picture.
#[derive(Debug, PartialEq, Eq)]
pub struct Edge {
    /// Position of the dependent.
    pub from: usize,
    /// Position of what it waits for.
    pub to: usize,
    /// Why.
    pub kind: EdgeKind,
}

/// Why an edge is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// The dependent reads what the other binds.
    Dependency,
    /// Nothing reads the other; it runs all the same.
    Orphan,
    /// The other is tried when this one fails or yields nothing.
    Fallback,
    /// The dependent stands in a branch of the other.
    Scope(Branch),
}

impl EdgeKind {
    /// `dep`, `orphan`, `fallback`, `scope-if`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dependency => "dep",
            Self::Orphan => "orphan",
            Self::Fallback => "fallback",
            Self::Scope(Branch::Then) => "scope-if",
            Self::Scope(Branch::Else) => "scope-else",
            Self::Scope(Branch::Body) => "scope-try",
            Self::Scope(Branch::Catch(_)) => "scope-catch",
            Self::Scope(Branch::Finally) => "scope-finally",
        }
    }
}

/// Explains a plan.
pub fn explain(plan: &Plan) -> Explanation {
    let return_position = plan.nodes.len();
    let mut nodes: Vec<_> = plan.nodes.iter().map(|node| explain_node(plan, node)).collect();
    let is_remote: Vec<bool> = nodes.iter().map(ExplainedNode::is_remote).collect();
    nodes.push(ExplainedNode {
        id: format!("n{}", return_position + 1),
        line: plan.node(plan.value).line,
        kind: "return",
        assign: None,
        tables: Vec::new(),
        readings: Vec::new(),
        fallback_of: None,
        scope: None,
        requires: Vec::new(),
        timeout_ms: None,
        sources: Vec::new(),
        stands_in: false,
        status: plan.route.as_ref().and_then(|route| Some(route.status.as_ref()?.text())),
    });
    let mut edges =
        vec![Edge { from: return_position, to: plan.value.index(), kind: EdgeKind::Dependency }];
    for node in plan.nodes.iter().rev() {
        node_edges(node, &mut edges);
    }
    let (levels, rounds) = (levels::levels(plan), levels::rounds(plan, &is_remote));
    Explanation { nodes, edges, levels, rounds }
}

fn node_edges(node: &Node, edges: &mut Vec<Edge>) {
    let from = node.id.index();
    let mut known = HashSet::new();
    let mut add = |to: NodeId, kind| {
        if known.insert((to, kind)) {
            edges.push(Edge { from, to: to.index(), kind });
        }
    };
    for dependency in &node.dependencies {
        add(*dependency, EdgeKind::Dependency);
    }
    if let NodeKind::Try(block) = &node.kind {
        for dependency in &block.condition_dependencies {
            add(*dependency, EdgeKind::Dependency);
        }
    }
    for orphan in &node.orphans {
        add(*orphan, EdgeKind::Orphan);
    }
    if let Some(fallback) = node.fallback {
        add(fallback, EdgeKind::Fallback);
    }
    if let Some(block) = node.block {
        add(block.block, EdgeKind::Scope(block.branch));
    }
}

fn explain_node(plan: &Plan, node: &Node) -> ExplainedNode {
    let id = |id: NodeId| format!("n{}", id.0 + 1);
    let (kind, tables, timeout_ms) = describe_kind(plan, node);
    let scope = node.block.map(|block| {
        let branch = match block.branch {
            Branch::Then => "then".to_owned(),
            Branch::Else => "else".to_owned(),
            Branch::Body => "try".to_owned(),
            Branch::Catch(number) => format!("catch {}", number + 1),
            Branch::Finally => "finally".to_owned(),
        };
        (id(block.block), branch)
    });
    let mut readings = Vec::new();
    if let NodeKind::Select(select) = &node.kind {
        reading::readings(select, 0, &mut readings);
    }
    ExplainedNode {
        id: id(node.id),
        line: node.line,
        kind,
        assign: match node.kind {
            NodeKind::Try(_) => node.target.map(|_| ERROR.to_owned()),
            _ => node.target.map(|slot| plan.symbols[slot.index()].name.to_string()),
        },
        tables,
        readings,
        fallback_of: node.fallback_of.map(id),
        scope,
        requires: node.prerequisites.iter().map(|template| template.text().to_owned()).collect(),
        timeout_ms,
        sources: match &node.kind {
            NodeKind::Select(select) if select.joins.is_none() => source::sources(select),
            _ => Vec::new(),
        },
        stands_in: plan.value == node.id
            && (node.span.start == node.span.end
                || node.target.is_none()
                    && matches!(node.kind, NodeKind::Reference { is_return: false, .. })),
        status: None,
    }
}

fn describe_kind(plan: &Plan, node: &Node) -> (&'static str, Vec<String>, Option<u64>) {
    match &node.kind {
        NodeKind::Define(_) => ("define", Vec::new(), None),
        NodeKind::Reference { name, .. } => ("ref", vec![format!("{{{name}}}")], None),
        NodeKind::Call(_) => ("udf", Vec::new(), None),
        NodeKind::Select(select) => {
            let mut tables = Vec::new();
            select_tables(select, &mut tables);
            ("select", tables, select.scan.delays.timeout_ms)
        }
        NodeKind::Write(write) => {
            (write.kind.as_str(), vec![source_name(&write.target)], write.delays.timeout_ms)
        }
        NodeKind::Delete(delete) => {
            let mut tables = vec![source_name(&delete.target)];
            condition_tables(&delete.conditions, &mut tables);
            ("delete", tables, delete.delays.timeout_ms)
        }
        NodeKind::Create(table) => {
            ("create", vec![plan.inline_tables[*table].name.to_string()], None)
        }
        NodeKind::ShowTables | NodeKind::ShowRoutes => ("show", Vec::new(), None),
        NodeKind::Describe { name, .. } => ("describe", vec![name.to_string()], None),
        NodeKind::DescribeRoute { .. } => ("describe", Vec::new(), None),
        NodeKind::If(_) => ("if", Vec::new(), None),
        NodeKind::Try(_) => ("try", Vec::new(), None),
        NodeKind::Throw { .. } | NodeKind::ThrowAgain(_) => ("throw", Vec::new(), None),
    }
}

/// All sources of a select: its own, the joined one and those of sub-selects.
fn select_tables(select: &Select, tables: &mut Vec<String>) {
    let scans = [Some(&select.scan), select.join.as_ref().map(|join| &join.scan)];
    if let SourceKind::Union(parts) = &select.scan.source.kind {
        parts.iter().for_each(|part| select_tables(&part.select, tables));
        return;
    }
    let others = select.joins.iter().flat_map(|joins| &joins.scans);
    for scan in scans.into_iter().flatten().chain(others) {
        match &scan.source.kind {
            SourceKind::Select(inner) => select_tables(inner, tables),
            SourceKind::Elements => {}
            _ => tables.push(source_name(&scan.source)),
        }
        condition_tables(&scan.conditions, tables);
    }
    for given in select.steps.iter().flat_map(|steps| &steps.givens) {
        if let Given::Condition(Expected::Select(select)) | Given::Select(select, _) = given {
            select_tables(select, tables);
        }
    }
    for nested in select.joins.iter().flat_map(|joins| &joins.nested) {
        select_tables(&nested.select, tables);
    }
}

fn condition_tables(conditions: &[crate::operator::Condition], tables: &mut Vec<String>) {
    for condition in conditions {
        if let Expected::Select(select) = &condition.expected {
            select_tables(select, tables);
        }
    }
}

fn source_name(source: &Source) -> String {
    match source.kind {
        SourceKind::Slot(_) => format!("{{{}}}", source.name),
        _ => source.name.to_string(),
    }
}
