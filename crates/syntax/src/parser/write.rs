//! `insert`, `update` and `delete` (GRM-7).

use std::slice;

use super::{Outcome, Parser};
use crate::{
    ast::{Delete, Insert, RawText, Update, VerbKind},
    complete::TokenPlace,
};

impl Parser<'_> {
    /// `'insert' [ QStr ] 'into' source [ '(' columns ')' ] [ 'values' '(' … ')' ]
    /// [ 'with' 'parts' … ] delays`. Which parts go together is for the checks.
    pub(super) fn insert(&mut self) -> Outcome<Insert> {
        let start = self.start();
        self.require_word("insert")?;
        let object = match self.lexer.peek() {
            Some('"' | '\'') => {
                self.mark_text(TokenPlace::Script);
                Some(self.raw_text()?)
            }
            _ => None,
        };
        self.require_word("into")?;
        let target = self.source()?;
        self.set_scope(start, slice::from_ref(&target), VerbKind::Insert);
        let columns = match self.accept("(") {
            Some(_) => {
                let columns = self.columns()?;
                self.require(")")?;
                Some(columns)
            }
            None => None,
        };
        let values = match self.accept_clause("values") {
            Some(_) => {
                self.require("(")?;
                Some(self.operands()?)
            }
            None => None,
        };
        let parts = self.parts()?;
        let delays = self.delays()?;
        let span = self.since(start);
        Ok(Insert { object, target, columns, values, parts, delays, span })
    }

    /// `'update' source 'with' QStr [ 'with' 'parts' … ] delays`.
    pub(super) fn update(&mut self) -> Outcome<Update> {
        let start = self.start();
        self.require_word("update")?;
        let target = self.source()?;
        self.require_word("with")?;
        self.mark_text(TokenPlace::Script);
        let object = self.raw_text()?;
        let parts = self.parts()?;
        let delays = self.delays()?;
        Ok(Update { target, object, parts, delays, span: self.since(start) })
    }

    /// `'delete' 'from' source [ 'where' conds ] delays`.
    pub(super) fn delete(&mut self) -> Outcome<Delete> {
        let start = self.start();
        self.require_word("delete")?;
        self.require_word("from")?;
        let target = self.source()?;
        self.set_scope(start, slice::from_ref(&target), VerbKind::Delete);
        let conditions = self.where_clause()?;
        let delays = self.delays()?;
        Ok(Delete { target, conditions, delays, span: self.since(start) })
    }

    /// `[ 'with' 'parts' QStr { ',' QStr } ]`.
    fn parts(&mut self) -> Outcome<Vec<RawText>> {
        if self.accept_clause("with").is_none() {
            return Ok(Vec::new());
        }
        self.require_word("parts")?;
        self.mark_text(TokenPlace::Script);
        self.raw_texts()
    }
}
