//! `if`, `try` and `throw`.

use qlio_syntax::{ast, caught::names_error};

use super::Lowering;
use crate::node::{BlockBranch, Branch, CatchBlock, IfBlock, NodeId, NodeKind, SlotId, TryBlock};

impl Lowering<'_> {
    pub(super) fn if_block(&mut self, node: &ast::If, block: Option<BlockBranch>) -> NodeId {
        let condition = self.logic(&node.condition);
        let kind = NodeKind::If(IfBlock { condition, then: Vec::new(), otherwise: Vec::new() });
        let id = self.push(node.span, kind, block);
        let then_nodes = self.branch(&node.then, id, Branch::Then);
        let else_nodes =
            self.branch(node.otherwise.as_deref().unwrap_or_default(), id, Branch::Else);
        if let NodeKind::If(block) = &mut self.node_mut(id).kind {
            block.then = then_nodes;
            block.otherwise = else_nodes;
        }
        id
    }

    pub(super) fn try_block(&mut self, node: &ast::Try, block: Option<BlockBranch>) -> NodeId {
        // What the catch conditions read is awaited after the body, not before it: a condition may
        // read what the body binds.
        let error = self.symbols.error_slot(node);
        self.enter(error);
        let conditions: Vec<_> =
            node.catches.iter().map(|catch| self.logic(&catch.condition)).collect();
        self.leave(error);
        let condition_reads = self.reads.take();
        let id = self.push(node.span, NodeKind::Try(TryBlock::default()), block);
        self.condition_reads.push((id, condition_reads));
        if let Some(slot) = error {
            self.symbols.set_node(slot, id);
            self.node_mut(id).target = error;
        }
        let body = self.branch(&node.body, id, Branch::Body);
        self.enter(error);
        let mut catches = Vec::new();
        for (number, (catch, condition)) in node.catches.iter().zip(conditions).enumerate() {
            let names_error = error.is_some() && names_error(&catch.condition);
            let body = self.branch(&catch.body, id, Branch::Catch(number as u32));
            let line = self.lines.line(catch.span.start);
            catches.push(CatchBlock { line, condition, names_error, body });
        }
        let finally = self.branch(node.finally.as_deref().unwrap_or_default(), id, Branch::Finally);
        self.leave(error);
        self.node_mut(id).kind =
            NodeKind::Try(TryBlock { body, condition_dependencies: Vec::new(), catches, finally });
        id
    }

    fn enter(&mut self, error: Option<SlotId>) {
        if let Some(slot) = error {
            self.symbols.enter(slot);
        }
    }

    fn leave(&mut self, error: Option<SlotId>) {
        if error.is_some() {
            self.symbols.leave();
        }
    }

    pub(super) fn throw(&mut self, node: &ast::Throw, block: Option<BlockBranch>) -> NodeId {
        let name = node.name.text.as_str();
        let slot = self.symbols.slot(name).expect("thrown names are symbols");
        if self.symbols.is_entered(slot) {
            return self.push(node.span, NodeKind::ThrowAgain(slot), block);
        }
        let is_assigned = self.symbols.assigned_slot(name).is_some();
        if is_assigned {
            self.read(slot);
        }
        let kind = NodeKind::Throw { slot, name: name.into(), is_assigned };
        self.push(node.span, kind, block)
    }

    fn branch(&mut self, items: &[ast::Item], block: NodeId, branch: Branch) -> Vec<NodeId> {
        items.iter().map(|item| self.item(item, Some(BlockBranch { block, branch }))).collect()
    }
}
