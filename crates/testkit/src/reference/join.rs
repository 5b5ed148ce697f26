//! Joins in nested loops (JOI-6).

use qlio_data::{Value, path::Path};
use qlio_syntax::ast;

use super::{
    Failure,
    rows::{self, Condition, Rows, path_of, path_text, without_alias},
    run::Interpreter,
};

/// Which half a path belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Main,
    Joined,
}

/// `main.path = joined.path`; the main side's value stands in a hidden column.
struct Key {
    main_column: usize,
    name: String,
    path: Path,
}

impl Interpreter<'_> {
    pub(super) fn join(
        &mut self,
        select: &ast::Select,
        main: &ast::Source,
        joined: &ast::Source,
    ) -> Result<Value, Failure> {
        let alias = |source: &ast::Source| {
            source.alias.as_ref().map(|alias| alias.text.clone()).unwrap_or_default()
        };
        let (main_alias, joined_alias) = (alias(main), alias(joined));
        let side_of = |path: &ast::Path| match path.segments.as_slice() {
            [ast::Segment::Member { name, is_quoted: false }, _, ..] if *name == main_alias => {
                Some(Side::Main)
            }
            [ast::Segment::Member { name, is_quoted: false }, _, ..] if *name == joined_alias => {
                Some(Side::Joined)
            }
            _ => None,
        };
        let ast::Columns::List(list) = &select.columns else {
            return Err(Failure::Unsupported("`select *` in a join"));
        };
        let (mut main_paths, mut joined_paths) = (Vec::new(), Vec::new());
        // Where each selected column stands: in which half, at which position.
        let mut selected = Vec::new();
        let mut aliases = Vec::new();
        for column in list {
            let ast::ColumnValue::Path(path) = &column.value else {
                return Err(Failure::Unsupported("a function as a column"));
            };
            aliases.push(column.alias.as_ref().map(|alias| alias.text.clone()));
            if side_of(path) == Some(Side::Joined) {
                selected.push((Side::Joined, joined_paths.len()));
                joined_paths.push(self.column(path, Some(&joined_alias))?);
            } else {
                selected.push((Side::Main, main_paths.len()));
                main_paths.push(self.column(path, Some(&main_alias))?);
            }
        }
        let mut keys = Vec::new();
        let (mut of_main, mut of_joined) = (Vec::new(), Vec::new());
        for condition in &select.conditions {
            let Some(left) = condition.path() else {
                return Err(Failure::Unsupported("a row function or an expression"));
            };
            if let ast::Condition::Equals { operand, .. } = condition
                && let ast::OperandKind::Path(right) = &operand.kind
                && side_of(right).is_some()
            {
                let (of_main, of_joined) =
                    if side_of(left) == Some(Side::Joined) { (right, left) } else { (left, right) };
                let joined_path = without_alias(of_joined, Some(&joined_alias));
                keys.push(Key {
                    main_column: main_paths.len(),
                    name: path_text(&joined_path),
                    path: path_of(&joined_path)?,
                });
                main_paths.push(self.column(of_main, Some(&main_alias))?);
            } else if side_of(left) == Some(Side::Joined) {
                of_joined.push(condition);
            } else {
                of_main.push(self.condition(condition, Some(&main_alias))?);
            }
        }
        let main_rows = match self.half(main, &of_main, &main_paths)? {
            Rows::Table(rows) => rows,
            Rows::Whole(value) => return Ok(value),
        };
        let mut table = Vec::new();
        for main_row in &main_rows {
            let mut conditions = Vec::new();
            for condition in &of_joined {
                conditions.push(self.condition(condition, Some(&joined_alias))?);
            }
            let partners = self.partners(joined, main_row, &keys, conditions, &joined_paths)?;
            for joined_row in &partners {
                let value = |(side, position): &(Side, usize)| match side {
                    Side::Main => main_row[*position].clone(),
                    Side::Joined => joined_row[*position].clone(),
                };
                table.push(selected.iter().map(value).collect::<Vec<Value>>());
            }
        }
        Ok(rows::cut(rows::shape(Rows::Table(table), &aliases, true), select))
    }

    /// The rows of the joined side for one row of the main side.
    fn partners(
        &self,
        joined: &ast::Source,
        main_row: &[Value],
        keys: &[Key],
        mut conditions: Vec<Condition>,
        paths: &[Path],
    ) -> Result<Vec<Vec<Value>>, Failure> {
        conditions.extend(keys.iter().map(|key| Condition {
            name: key.name.clone(),
            path: key.path.clone(),
            expected: main_row[key.main_column].clone(),
        }));
        match self.half(joined, &conditions, paths)? {
            Rows::Table(rows) => Ok(rows),
            Rows::Whole(_) => Ok(Vec::new()),
        }
    }

    fn half(
        &self,
        source: &ast::Source,
        conditions: &[Condition],
        paths: &[Path],
    ) -> Result<Rows, Failure> {
        if !self.is_assigned(&source.name.text) {
            return self.ask_rows(&source.name.text, conditions, paths);
        }
        let value = self.variables.0.get(&source.name.text).cloned().unwrap_or_default();
        let kept = rows::filter(&value, conditions, &self.variables)?;
        rows::project(&kept, Some(paths), &self.variables)
    }
}
