//! The execution plan: nodes, edges and what each node does.
//!
//! A node is a statement, a fallback alternative, an `if`, a `try` or the value of the script
//! (EXE-15). Edges are stored with the dependent. The plan is immutable and shared by
//! all requests that run it; everything that changes while running belongs to the executor.

use std::sync::Arc;

use qlio_data::{
    Text, Value,
    template::{Lookup, Template},
};
use qlio_syntax::{ast::RunLimit, source::Span};

use crate::{
    catalog::{ModuleFolders, Table},
    operator::{Call, Delete, Expression, Logic, Select, SourceKind, Write},
};

pub use qlio_data::scope::SlotId;

/// The position of a node in [`Plan::nodes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The index into [`Plan::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A compiled script.
#[derive(Debug)]
pub struct Plan {
    /// The script's text, for error positions and events.
    pub text: Arc<str>,
    /// The file the script came from, or a name such as `script`.
    pub file: Arc<str>,
    /// All nodes; creates and statements in text order, then the value.
    pub nodes: Vec<Node>,
    /// The variables, by slot.
    pub symbols: Vec<Symbol>,
    /// The first alternative of the script's value.
    pub value: NodeId,
    /// The `via route` clause.
    pub route: Option<RouteSpec>,
    /// `assert calls <= n`.
    pub calls_max: Option<u64>,
    /// Comments before `return`.
    pub docs: Vec<String>,
    /// Tables created by the script, in text order.
    pub inline_tables: Vec<Arc<Table>>,
    /// Names of all loaded tables that the script names anywhere, without repetition, in text order.
    pub loaded_tables: Vec<String>,
    /// Where `require` finds modules.
    pub modules: ModuleFolders,
    /// Nodes that are demanded from the start: the value and the orphans, in starting order.
    pub roots: Vec<NodeId>,
    /// No node stands in a block or is a fallback, so every node runs exactly once.
    pub is_simple: bool,
}

impl Plan {
    /// The node with this id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }
}

/// A variable of a script.
#[derive(Debug, Clone)]
pub struct Symbol {
    /// Its name; empty for a caught error that only the blocks of its `try` see.
    pub name: Text,
    /// The first alternative of the statement that binds it, or the `try` that catches it; `None` for
    /// a name that is only thrown.
    pub node: Option<NodeId>,
    /// What templates of the script read below it, each once.
    pub lookups: Vec<Lookup>,
}

/// One node of the plan.
#[derive(Debug)]
pub struct Node {
    /// Where the node stands in [`Plan::nodes`].
    pub id: NodeId,
    /// 1-based line of the statement (EXE-19).
    pub line: u32,
    /// Where the statement stands in the text.
    pub span: Span,
    /// The work it does.
    pub kind: NodeKind,
    /// The variable it binds; of a `try` the error that it catches.
    pub target: Option<SlotId>,
    /// The nodes that must be finished before it may start; the chain's first alternative stands for a chain.
    pub dependencies: Vec<NodeId>,
    /// Dependencies that exist only because nothing else needs them (EXE-4, EXE-5).
    pub orphans: Vec<NodeId>,
    /// The next alternative, tried when this one fails or yields nothing.
    pub fallback: Option<NodeId>,
    /// The first alternative of the chain that this node is a later alternative of.
    pub fallback_of: Option<NodeId>,
    /// The block that the node stands in.
    pub block: Option<BlockBranch>,
    /// The nodes that wait for this one: the reverse of the edges above, `try` nodes that wait with their
    /// catch conditions included.
    pub dependents: Vec<NodeId>,
    /// Templates with `{^x}` tokens that must resolve, else the node yields nothing.
    pub prerequisites: Vec<Template>,
    /// The tokens of settings that the node needs and that have no value, such as `config.shop.api`:
    /// it fails.
    pub missing_settings: Vec<Text>,
}

/// A branch of an `if` or `try`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockBranch {
    /// The `if` or `try` node.
    pub block: NodeId,
    /// Which of its branches.
    pub branch: Branch,
}

/// The branches of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Branch {
    /// The block after the condition of an `if`.
    Then,
    /// The `else` block.
    Else,
    /// The body of a `try`.
    Body,
    /// The n-th `catch`.
    Catch(u32),
    /// The `finally` block.
    Finally,
}

/// The kinds of work that nodes do.
#[derive(Debug)]
pub enum NodeKind {
    /// Fills a JSON literal.
    Define(Expression),
    /// Reads a variable.
    Reference {
        /// The variable, if the script assigns it.
        slot: Option<SlotId>,
        /// Its name.
        name: Text,
        /// `return x` of a null variable is an error (RET-3).
        is_return: bool,
    },
    /// Calls a script function, or `require`.
    Call(Call),
    /// Selects, with or without a join.
    Select(Box<Select>),
    /// Inserts or updates.
    Write(Box<Write>),
    /// Deletes.
    Delete(Box<Delete>),
    /// Creates an inline table; the index is into [`Plan::inline_tables`].
    Create(usize),
    /// `show tables`.
    ShowTables,
    /// `show routes`.
    ShowRoutes,
    /// `describe t`: an inline table, or the name of a loaded one.
    Describe {
        /// The table's name.
        name: Text,
        /// The table, if the script creates one of the name.
        inline: Option<SourceKind>,
    },
    /// `describe route '…' using method m`.
    DescribeRoute {
        /// The full template.
        path: Text,
        /// The method in lower case.
        method: Text,
    },
    /// `if`.
    If(IfBlock),
    /// `try`.
    Try(TryBlock),
    /// `throw (name)`: sets the slot to `name` unless the script assigns that variable.
    Throw {
        /// The thrown variable.
        slot: SlotId,
        /// Its name.
        name: Text,
        /// A statement of the script binds it, so it is left alone.
        is_assigned: bool,
    },
    /// `throw (error)` behind a `catch (error)`: what was caught in the slot is raised again.
    ThrowAgain(SlotId),
}

/// An `if` with its branches.
#[derive(Debug)]
pub struct IfBlock {
    /// The condition.
    pub condition: Logic,
    /// The nodes of the block after the condition, in text order; first alternatives only.
    pub then: Vec<NodeId>,
    /// The nodes of the `else` block.
    pub otherwise: Vec<NodeId>,
}

/// A `try` with its blocks.
#[derive(Debug, Default)]
pub struct TryBlock {
    /// The nodes of the body.
    pub body: Vec<NodeId>,
    /// The nodes that bind the names of the catch conditions; awaited with the body before they are evaluated.
    pub condition_dependencies: Vec<NodeId>,
    /// Conditions and nodes of the catches.
    pub catches: Vec<CatchBlock>,
    /// The nodes of `finally`.
    pub finally: Vec<NodeId>,
}

/// One `catch`.
#[derive(Debug)]
pub struct CatchBlock {
    /// 1-based line.
    pub line: u32,
    /// When it runs.
    pub condition: Logic,
    /// The condition names the caught error, so the error is dealt with if the block runs.
    pub names_error: bool,
    /// Its nodes.
    pub body: Vec<NodeId>,
}

/// The `via route` clause of a script.
#[derive(Debug, Clone)]
pub struct RouteSpec {
    /// Path and query template as written.
    pub path: String,
    /// Where the quoted path stands.
    pub path_span: Span,
    /// Method in lower case: `get`, `post`, `put`, `delete`, `patch`.
    pub method: String,
    /// `with optional params`.
    pub has_optional_params: bool,
    /// Defaults by token name.
    pub defaults: Vec<(Text, Value)>,
    /// The status of the answer; 200 if it is not said.
    pub status: Option<RouteStatus>,
    /// Response headers: name and value templates.
    pub headers: Vec<(Template, Template)>,
    /// How long a run may take in all, in milliseconds, if the route says it.
    pub deadline_ms: Option<u64>,
    /// What a run may use, as far as the route says it.
    pub limits: Vec<(RunLimit, u64)>,
    /// The tokens of settings without a value in the status or the headers: the route fails.
    pub missing_settings: Vec<Text>,
}

/// The status that a route answers with.
#[derive(Debug, Clone)]
pub enum RouteStatus {
    /// Known at compile time, and in range.
    Fixed(u16),
    /// A text with tokens, filled and judged per run.
    Filled(Template),
}

impl RouteStatus {
    /// The status as written.
    pub fn text(&self) -> String {
        match self {
            Self::Fixed(status) => status.to_string(),
            Self::Filled(template) => template.text().to_owned(),
        }
    }
}
