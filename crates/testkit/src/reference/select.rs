//! Selects from one source, and the evaluation of conditions (SEL-27, SEL-17, SEL-13, SEL-7,
//! SEL-22, URI-10, EXE-6).

use qlio_data::{Value, codec::json, path::Path, template::Template};
use qlio_syntax::ast;

use super::{
    Answers, Failure, Variables,
    graph::first_word,
    rows::{self, Condition, Rows, path_of, path_text, without_alias},
    run::Interpreter,
};

/// The columns of one source: paths, or everything.
pub(super) struct Columns {
    pub(super) paths: Option<Vec<Path>>,
    pub(super) aliases: Vec<Option<String>>,
}

impl Interpreter<'_> {
    pub(super) fn select(&mut self, select: &ast::Select) -> Result<Value, Failure> {
        let is_token = |bound: &Option<ast::Bound>| matches!(bound, Some(ast::Bound::Token { .. }));
        if select.is_distinct
            || select.is_value
            || !select.order.is_empty()
            || select.grouping.is_some()
            || !select.unions.is_empty()
            || is_token(&select.limit)
            || is_token(&select.offset)
        {
            return Err(Failure::Unsupported("a step behind the rows"));
        }
        let is_named = |source: &ast::Source| {
            source.select.is_none() && source.joint == ast::Joint::Comma && source.on.is_none()
        };
        if select.sources.len() > 2 || !select.sources.iter().all(is_named) {
            return Err(Failure::Unsupported("a join of more than two names"));
        }
        if let [main, joined] = select.sources.as_slice() {
            return self.join(select, main, joined);
        }
        let Some(source) = select.sources.first() else {
            return Err(Failure::Unsupported("a select without a source"));
        };
        let alias = source.alias.as_ref().map(|alias| alias.text.as_str());
        let columns = self.columns(&select.columns, alias)?;
        let conditions = self.conditions(&select.conditions, alias)?;
        if self.is_assigned(&source.name.text) {
            let value = self.variables.0.get(&source.name.text).cloned().unwrap_or_default();
            let kept = rows::filter(&value, &conditions, &self.variables)?;
            let projected = rows::project(&kept, columns.paths.as_deref(), &self.variables)?;
            return Ok(rows::cut(rows::shape(projected, &columns.aliases, false), select));
        }
        let shape = |rows| rows::shape(rows, &columns.aliases, false);
        let answers = self.ask(&source.name.text, &conditions, columns.paths.as_deref(), &shape)?;
        Ok(rows::cut(answers, select))
    }

    /// Asks a table and puts the rows of all answers in one list; failed ones of several are dropped.
    fn ask(
        &self,
        table: &str,
        conditions: &[Condition],
        columns: Option<&[Path]>,
        shape: &dyn Fn(Rows) -> Value,
    ) -> Result<Value, Failure> {
        let answers = match self.tables.select(table, &|name| self.parameter(name, conditions))? {
            Answers::Single(answer) => {
                return Ok(shape(rows::project(&answer?, columns, &self.variables)?));
            }
            Answers::Scatter(answers) => answers,
        };
        let mut listed = Vec::new();
        let mut first_error = None;
        let mut has_answer = answers.is_empty();
        for answer in answers {
            match answer {
                Ok(value) => {
                    has_answer = true;
                    // Whatever is no list is a list of one row; nothing is no row.
                    let projected = rows::project(&as_rows(&value), columns, &self.variables)?;
                    listed.extend(elements(&shape(projected)));
                }
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        match first_error {
            Some(error) if !has_answer => Err(Failure::Failed(error)),
            _ => Ok(Value::array(listed)),
        }
    }

    /// The rows that a table answers as one half of a join.
    pub(super) fn ask_rows(
        &self,
        table: &str,
        conditions: &[Condition],
        columns: &[Path],
    ) -> Result<Rows, Failure> {
        let answers = match self.tables.select(table, &|name| self.parameter(name, conditions))? {
            Answers::Single(answer) => {
                return rows::project(&answer?, Some(columns), &self.variables);
            }
            Answers::Scatter(answers) => answers,
        };
        let mut table = Vec::new();
        for answer in answers {
            let rows = rows::project(&as_rows(&answer?), Some(columns), &self.variables)?;
            if let Rows::Table(rows) = rows {
                table.extend(rows);
            }
        }
        if table.is_empty() {
            return Ok(Rows::Whole(Value::array(Vec::new())));
        }
        Ok(Rows::Table(table))
    }

    /// The value of a table's token: the statement's own, then a variable of the script.
    fn parameter(&self, name: &str, conditions: &[Condition]) -> Value {
        let own = conditions
            .iter()
            .rev()
            .find(|condition| condition.name == name && !condition.expected.is_absent());
        match own {
            Some(condition) => condition.expected.clone(),
            None => self.variables.0.get(name).cloned().unwrap_or_default(),
        }
    }

    pub(super) fn columns(
        &self,
        columns: &ast::Columns,
        alias: Option<&str>,
    ) -> Result<Columns, Failure> {
        let ast::Columns::List(list) = columns else {
            return Ok(Columns { paths: None, aliases: Vec::new() });
        };
        let mut paths = Vec::new();
        let mut aliases = Vec::new();
        for column in list {
            let ast::ColumnValue::Path(path) = &column.value else {
                return Err(Failure::Unsupported("a function as a column"));
            };
            paths.push(self.column(path, alias)?);
            aliases.push(column.alias.as_ref().map(|alias| alias.text.clone()));
        }
        Ok(Columns { paths: Some(paths), aliases })
    }

    /// A column path; tokens in it are filled first.
    pub(super) fn column(&self, path: &ast::Path, alias: Option<&str>) -> Result<Path, Failure> {
        let path = without_alias(path, alias);
        let text = path_text(&path);
        if Template::parse(&text).is_literal() {
            return path_of(&path);
        }
        let filled = self.fill(&text)?.scalar_text().unwrap_or_default();
        Path::parse(&filled).map_err(|error| Failure::Failed(error.to_string()))
    }

    pub(super) fn conditions(
        &mut self,
        conditions: &[ast::Condition],
        alias: Option<&str>,
    ) -> Result<Vec<Condition>, Failure> {
        conditions.iter().map(|condition| self.condition(condition, alias)).collect()
    }

    pub(super) fn condition(
        &mut self,
        condition: &ast::Condition,
        alias: Option<&str>,
    ) -> Result<Condition, Failure> {
        let (path, expected) = match condition {
            ast::Condition::Equals { path, operand, .. } => (path, self.operand(operand)?),
            ast::Condition::InList { path, items, .. } => {
                let mut list = Vec::new();
                for item in items {
                    match self.listed(item)?.into_tree() {
                        Value::Array(elements) => list.extend(elements.iter().cloned()),
                        other => list.push(other),
                    }
                }
                list.retain(|item| !item.is_absent());
                (path, Value::array(list))
            }
            ast::Condition::InSelect { path, select, .. } => (path, as_rows(&self.select(select)?)),
            ast::Condition::Call(_) => return Err(Failure::Unsupported("a row function")),
            ast::Condition::Test(_) => return Err(Failure::Unsupported("an expression")),
        };
        let path = without_alias(path, alias);
        Ok(Condition { name: path_text(&path), path: path_of(&path)?, expected })
    }

    /// The right side of `=`: a bareword is a variable, or its own text.
    fn operand(&self, operand: &ast::Operand) -> Result<Value, Failure> {
        match &operand.kind {
            ast::OperandKind::Path(path)
                if !first_word(path).is_some_and(|word| self.is_symbol(&word)) =>
            {
                Ok(Value::from(path_text(path).as_str()))
            }
            _ => self.listed(operand),
        }
    }

    /// An item of an in-list or a value of an insert: a bareword is a variable, or absent.
    pub(super) fn listed(&self, operand: &ast::Operand) -> Result<Value, Failure> {
        match &operand.kind {
            ast::OperandKind::Text(text) => self.fill(text),
            ast::OperandKind::Number(text) => number(text),
            ast::OperandKind::Bool(value) => Ok(Value::Bool(*value)),
            ast::OperandKind::Null => Ok(Value::Null),
            ast::OperandKind::Path(path) => self.fill(&format!("{{={}}}", path_text(path))),
            ast::OperandKind::Token(text) => self.fill(&format!("{{{text}}}")),
        }
    }
}

pub(super) fn number(text: &str) -> Result<Value, Failure> {
    json::parse_str(text).map_err(|error| Failure::Failed(error.to_string()))
}

/// A value as a list: nothing has no element, what is no list is its own element.
fn as_rows(value: &Value) -> Value {
    match value.into_tree() {
        list @ Value::Array(_) => list,
        Value::Absent | Value::Null => Value::array(Vec::new()),
        other => Value::array(vec![other]),
    }
}

fn elements(list: &Value) -> Vec<Value> {
    match list.into_tree() {
        Value::Array(elements) => elements.to_vec(),
        other => vec![other],
    }
}

/// Whether a `{^x}` of the statement has no value (EXE-6).
pub(super) fn misses_prerequisite(
    primary: &ast::Primary,
    variables: &Variables,
) -> Result<bool, Failure> {
    let mut texts = Vec::new();
    match primary {
        ast::Primary::Select(select) => select_texts(select, &mut texts),
        ast::Primary::Delete(delete) => {
            delete.conditions.iter().for_each(|condition| condition_texts(condition, &mut texts));
        }
        ast::Primary::Insert(insert) => {
            texts.extend(insert.object.iter().map(|object| object.text.as_str()));
            insert.values.iter().flatten().for_each(|value| operand_text(value, &mut texts));
        }
        _ => {}
    }
    for text in texts {
        let missing = Template::parse(text).required_missing(variables);
        if missing.map_err(|error| Failure::Failed(error.to_string()))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn select_texts<'s>(select: &'s ast::Select, texts: &mut Vec<&'s str>) {
    select.conditions.iter().for_each(|condition| condition_texts(condition, texts));
}

fn condition_texts<'s>(condition: &'s ast::Condition, texts: &mut Vec<&'s str>) {
    match condition {
        ast::Condition::Equals { operand, .. } => operand_text(operand, texts),
        ast::Condition::InList { items, .. } => {
            for item in items {
                operand_text(item, texts);
            }
        }
        ast::Condition::InSelect { select, .. } => select_texts(select, texts),
        ast::Condition::Call(_) | ast::Condition::Test(_) => {}
    }
}

fn operand_text<'s>(operand: &'s ast::Operand, texts: &mut Vec<&'s str>) {
    if let ast::OperandKind::Text(text) = &operand.kind {
        texts.push(text);
    }
}
