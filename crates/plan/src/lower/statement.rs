//! Statements and fallback chains.

use std::sync::Arc;

use qlio_syntax::ast;

use super::{Lowering, Origin};
use crate::{
    catalog::{Declaration, Transformers, declare_table},
    node::{BlockBranch, NodeId, NodeKind},
};

/// A `create table`, its comments, and whether it stands in a block.
type FoundCreate<'a> = (&'a ast::Create, &'a [ast::Comment], bool);

impl Lowering<'_> {
    /// Declares every `create table` of the script, at any nesting level, before names are resolved.
    pub(super) fn declare_inline_tables(&mut self, script: &ast::Script) {
        let mut creates = Vec::new();
        collect_creates(&script.items, false, &mut creates);
        if let Some(result) = &script.result {
            creates.extend(result.alternatives.iter().filter_map(
                |alternative| match alternative {
                    ast::Primary::Create(create) => Some((&**create, &[][..], false)),
                    _ => None,
                },
            ));
        }
        let declaration = Declaration {
            file: &self.file,
            lines: self.lines,
            config: self.catalog.config(),
            connectors: self.catalog.connectors(),
            // What a file says by name is said of tables of the app.
            transformers: &Transformers::default(),
            resources: self.resources(),
            is_inline: true,
        };
        let hidden = qlio_data::Value::Absent;
        let declaration = match self.options.origin {
            Origin::Stored => declaration,
            // A client's table must not read settings, which may be secrets.
            Origin::AdHoc => Declaration { config: &hidden, ..declaration },
        };
        for (create, docs, is_conditional) in creates {
            let declared = declare_table(create, docs, &declaration);
            self.problems.extend(declared.problems);
            let position = self.inline_tables.len();
            self.inline_index.entry(create.name.text.clone()).or_insert(position);
            self.are_conditional.push(is_conditional);
            self.inline_tables.push(Arc::new(declared.table));
        }
    }

    /// Lowers an item of a block or of the top level; answers its first node.
    pub(super) fn item(&mut self, item: &ast::Item, block: Option<BlockBranch>) -> NodeId {
        match item {
            ast::Item::Statement(statement) => {
                let first = self.chain(&statement.alternatives, block, false);
                if let Some(target) = &statement.target {
                    self.set_target(first, &target.text);
                    let line = self.lines.line(statement.span.start);
                    self.node_mut(first).line = line;
                }
                first
            }
            ast::Item::If(node) => self.if_block(node, block),
            ast::Item::Try(node) => self.try_block(node, block),
            ast::Item::Throw(node) => self.throw(node, block),
        }
    }

    /// Lowers a fallback chain; gives the first alternative.
    pub(super) fn chain(
        &mut self,
        alternatives: &[ast::Primary],
        block: Option<BlockBranch>,
        is_return: bool,
    ) -> NodeId {
        let mut first: Option<NodeId> = None;
        let mut previous: Option<NodeId> = None;
        for alternative in alternatives {
            let kind = match alternative {
                ast::Primary::Reference(name) => self.reference(&name.text, is_return),
                other => self.primary(other),
            };
            let id = self.push(alternative.span(), kind, block);
            if let Some(previous) = previous {
                self.node_mut(previous).fallback = Some(id);
                self.node_mut(id).fallback_of = first;
            }
            first.get_or_insert(id);
            previous = Some(id);
        }
        first.expect("the parser never gives an empty chain")
    }

    fn set_target(&mut self, first: NodeId, name: &str) {
        let Some(slot) = self.symbols.assigned_slot(name) else { return };
        self.symbols.set_node(slot, first);
        let mut next = Some(first);
        while let Some(id) = next {
            let node = self.node_mut(id);
            node.target = Some(slot);
            let assign = match &mut node.kind {
                NodeKind::Select(select) => Some(&mut select.assign),
                NodeKind::Write(write) => Some(&mut write.assign),
                NodeKind::Delete(delete) => Some(&mut delete.assign),
                _ => None,
            };
            if let Some(assign) = assign {
                *assign = Some(name.into());
            }
            next = node.fallback;
        }
    }

    pub(super) fn primary(&mut self, primary: &ast::Primary) -> NodeKind {
        match primary {
            ast::Primary::Select(select) => NodeKind::Select(Box::new(self.select(select))),
            ast::Primary::Insert(insert) => NodeKind::Write(Box::new(self.insert(insert))),
            ast::Primary::Update(update) => NodeKind::Write(Box::new(self.update(update))),
            ast::Primary::Delete(delete) => NodeKind::Delete(Box::new(self.delete(delete))),
            ast::Primary::Create(create) => {
                let position = self.inline_index.get(&create.name.text).copied();
                NodeKind::Create(
                    position.expect("inline tables are declared before anything is lowered"),
                )
            }
            ast::Primary::Show(show) if show.is_routes => NodeKind::ShowRoutes,
            ast::Primary::Show(_) => NodeKind::ShowTables,
            ast::Primary::Describe(describe) => {
                let name = describe.source.name.text.as_str();
                let inline = self.inline_source(name);
                if inline.is_none() && self.loaded_table(name).is_none() {
                    self.warn_unknown_table(&describe.source.name);
                }
                NodeKind::Describe { name: name.into(), inline }
            }
            ast::Primary::DescribeRoute(describe) => NodeKind::DescribeRoute {
                path: describe.path.text.as_str().into(),
                method: describe.method.text.as_str().into(),
            },
            ast::Primary::Json(json) => NodeKind::Define(self.expression(json)),
            ast::Primary::Call(call) => NodeKind::Call(self.call(call)),
            ast::Primary::Reference(name) => self.reference(&name.text, false),
        }
    }

    pub(super) fn reference(&mut self, name: &str, is_return: bool) -> NodeKind {
        let slot = self.symbols.slot(name);
        if let Some(slot) = slot {
            self.read(slot);
        }
        NodeKind::Reference { slot, name: name.into(), is_return }
    }
}

fn collect_creates<'a>(
    items: &'a [ast::Item],
    is_conditional: bool,
    found: &mut Vec<FoundCreate<'a>>,
) {
    for item in items {
        match item {
            ast::Item::Statement(statement) => {
                for alternative in &statement.alternatives {
                    if let ast::Primary::Create(create) = alternative {
                        found.push((create, &statement.docs, is_conditional));
                    }
                }
            }
            ast::Item::If(node) => {
                collect_creates(&node.then, true, found);
                collect_creates(node.otherwise.as_deref().unwrap_or_default(), true, found);
            }
            ast::Item::Try(node) => {
                collect_creates(&node.body, true, found);
                for catch in &node.catches {
                    collect_creates(&catch.body, true, found);
                }
                collect_creates(node.finally.as_deref().unwrap_or_default(), true, found);
            }
            ast::Item::Throw(_) => {}
        }
    }
}
