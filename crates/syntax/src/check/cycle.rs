//! Statements that need themselves, directly or through others (DEF-7).
//!
//! In: the script. Out: one diagnostic per knot of statements that wait for each other.
//! The graph has a node per statement, and for each block a node for its decision and one for its
//! completion: a statement waits for the decision of its block, an `if` for the names of its
//! condition, a `catch` for the whole `try`. Knots are the strongly connected components, found in
//! linear time (Tarjan) and without recursion.

use std::collections::HashMap;

use super::{Checker, reference::references};
use crate::{
    ast::{If, Item, Logic, Primary, Script, Statement, Try},
    caught::{self, ERROR, catches_errors},
    diagnostic::codes,
    source::Span,
    token, visit,
};

/// Reports every circular reference at its textually first statement.
pub(super) fn check(checker: &mut Checker<'_>, script: &Script) {
    let mut graph = Graph { visible: caught::visible_everywhere(script), ..Graph::default() };
    for item in &script.items {
        graph.item(item, None);
    }
    graph.resolve();
    for knot in knots(&graph.edges) {
        report(checker, script, &graph, &knot);
    }
}

fn report(checker: &mut Checker<'_>, script: &Script, graph: &Graph<'_>, knot: &[usize]) {
    let mut names: Vec<(Span, &str)> = knot.iter().filter_map(|node| graph.names[*node]).collect();
    names.sort_unstable();
    let Some((span, name)) = names.first() else { return };
    let site = checker.site(span.start);
    let message = format!("Circular reference {name}");
    let diagnostic = checker.add(site, codes::CIRCULAR_REFERENCE, *span, &message);
    let shared = names.iter().find_map(|(_, name)| shared_name(script, name));
    if let Some(shared) = shared {
        diagnostic.hints.push(shared);
    }
    if names.len() > 1 {
        let all: Vec<String> = names.iter().map(|(_, name)| format!("`{name}`")).collect();
        diagnostic.notes.push(format!("these need each other: {}", all.join(", ")));
    }
}

/// A hint that names the parameter or table which a variable that needs itself hides: mostly that one
/// was meant.
fn shared_name(script: &Script, name: &str) -> Option<String> {
    let route = script.result.as_ref().and_then(|result| result.route.as_ref());
    let is_parameter = route.is_some_and(|route| {
        let path = route.path.text.replace(['^', '#'], "");
        token::roots(&path).contains(&name)
            || route.default_values().any(|(token, _)| token == name)
    });
    if is_parameter {
        return Some(format!(
            "`{name}` is also a parameter of the route, and a variable hides it: give the variable another name"
        ));
    }
    let mut is_source = false;
    visit::each_select(script, &mut |select| {
        is_source |= select.sources.iter().any(|source| source.name.text == name);
    });
    is_source.then(|| {
        format!(
            "a variable hides the table of its name: give the variable another name than `{name}`"
        )
    })
}

/// The statements and blocks of a script, and the edges from each to those it waits for.
#[derive(Default)]
struct Graph<'s> {
    /// Of each node, the nodes it waits for.
    edges: Vec<Vec<usize>>,
    /// Of each node, the name it binds and the statement's place; blocks have none.
    names: Vec<Option<(Span, &'s str)>>,
    /// The node that binds a name.
    bound: HashMap<&'s str, usize>,
    /// References whose names are looked up when all are known.
    pending: Vec<(usize, &'s str)>,
    /// The `try` whose `error` is a variable of the whole script.
    visible: Option<&'s Try>,
    /// In a catch or `finally` of a `try` that catches errors: `error` is there already.
    in_region: bool,
}

impl<'s> Graph<'s> {
    fn node(&mut self, waits_for: Option<usize>) -> usize {
        self.edges.push(waits_for.into_iter().collect());
        self.names.push(None);
        self.edges.len() - 1
    }

    /// Adds an item that waits for `gate`; gives the node of its completion.
    fn item(&mut self, item: &'s Item, gate: Option<usize>) -> usize {
        match item {
            Item::Statement(node) => self.statement(node, gate),
            Item::If(node) => self.if_block(node, gate),
            Item::Try(node) => self.try_block(node, gate),
            Item::Throw(_) => self.node(gate),
        }
    }

    /// Adds the items of a block; gives the node that waits for all of them.
    fn block(&mut self, items: &'s [Item], gate: Option<usize>) -> usize {
        let done = self.node(gate);
        for item in items {
            let inner = self.item(item, gate);
            self.edges[done].push(inner);
        }
        done
    }

    fn statement(&mut self, statement: &'s Statement, gate: Option<usize>) -> usize {
        let node = self.node(gate);
        let place = Span::new(statement.span.start, statement.span.start);
        if let Some(target) = &statement.target {
            self.names[node] = Some((target.span, &target.text));
            self.bound.entry(&target.text).or_insert(node);
        }
        for alternative in &statement.alternatives {
            if let Primary::Create(table) = alternative {
                self.names[node].get_or_insert((place.to(table.name.span), &table.name.text));
                self.bound.entry(&table.name.text).or_insert(node);
            }
            let in_region = self.in_region;
            references(alternative, &mut |name| {
                if !(in_region && name == ERROR) {
                    self.pending.push((node, name));
                }
            });
        }
        node
    }

    fn condition(&mut self, node: usize, logic: &'s Logic) {
        let mut operands = Vec::new();
        caught::operands_of(logic, &mut operands);
        for path in operands {
            let name = caught::first_name(path);
            if !(self.in_region && name == ERROR) {
                self.pending.push((node, name));
            }
        }
    }

    fn if_block(&mut self, node: &'s If, gate: Option<usize>) -> usize {
        let decision = self.node(gate);
        self.condition(decision, &node.condition);
        let then = self.block(&node.then, Some(decision));
        let otherwise = self.block(node.otherwise.as_deref().unwrap_or_default(), Some(decision));
        let done = self.node(Some(then));
        self.edges[done].push(otherwise);
        done
    }

    fn try_block(&mut self, node: &'s Try, gate: Option<usize>) -> usize {
        let body = self.block(&node.body, gate);
        let handled = self.node(Some(body));
        let around = self.in_region;
        self.in_region |= catches_errors(node, around);
        let decided = self.node(Some(body));
        for catch in &node.catches {
            let decision = self.node(Some(body));
            self.condition(decision, &catch.condition);
            self.edges[decided].push(decision);
            let done = self.block(&catch.body, Some(decision));
            self.edges[handled].push(done);
        }
        if self.visible.is_some_and(|visible| visible.span == node.span) {
            self.bound.insert(ERROR, decided);
        }
        let done = self.block(node.finally.as_deref().unwrap_or_default(), Some(handled));
        self.in_region = around;
        done
    }

    fn resolve(&mut self) {
        for (node, name) in std::mem::take(&mut self.pending) {
            if let Some(needed) = self.bound.get(name) {
                self.edges[node].push(*needed);
            }
        }
    }
}

/// The strongly connected components that hold a cycle.
fn knots(edges: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut search = Search {
        order: vec![usize::MAX; edges.len()],
        low: vec![0; edges.len()],
        is_open: vec![false; edges.len()],
        open: Vec::new(),
        visited: 0,
        knots: Vec::new(),
    };
    for start in 0..edges.len() {
        if search.order[start] == usize::MAX {
            search.run(edges, start);
        }
    }
    search.knots
}

struct Search {
    /// When a node was first visited.
    order: Vec<usize>,
    /// The earliest open node that can be reached.
    low: Vec<usize>,
    is_open: Vec<bool>,
    /// Visited nodes that may still belong to a component above them.
    open: Vec<usize>,
    visited: usize,
    knots: Vec<Vec<usize>>,
}

impl Search {
    fn run(&mut self, edges: &[Vec<usize>], start: usize) {
        self.enter(start);
        // Each entry: a node and how many of its edges are done.
        let mut path = vec![(start, 0)];
        while let Some((node, done)) = path.last_mut() {
            let node = *node;
            if let Some(next) = edges[node].get(*done) {
                *done += 1;
                if self.order[*next] == usize::MAX {
                    self.enter(*next);
                    path.push((*next, 0));
                } else if self.is_open[*next] {
                    self.low[node] = self.low[node].min(self.order[*next]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                self.low[*parent] = self.low[*parent].min(self.low[node]);
            }
            if self.low[node] == self.order[node] {
                self.close(edges, node);
            }
        }
    }

    fn enter(&mut self, node: usize) {
        self.order[node] = self.visited;
        self.low[node] = self.visited;
        self.visited += 1;
        self.is_open[node] = true;
        self.open.push(node);
    }

    /// Takes the component whose first node is `node` off the open ones.
    fn close(&mut self, edges: &[Vec<usize>], node: usize) {
        let mut component = Vec::new();
        while let Some(member) = self.open.pop() {
            self.is_open[member] = false;
            component.push(member);
            if member == node {
                break;
            }
        }
        if component.len() > 1 || edges[node].contains(&node) {
            self.knots.push(component);
        }
    }
}
