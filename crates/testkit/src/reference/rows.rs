//! Filtering, cutting, projecting and shaping values (SEL-13, SEL-7, SEL-22).

use std::fmt::Write;

use qlio_data::{
    Object, Value,
    path::{Options, Path, Segment, expression::Expression},
    scope::Scope,
};
use qlio_syntax::ast;

use super::{Failure, loosely_equal};

/// A condition with what it expects.
pub(super) struct Condition {
    pub(super) name: String,
    pub(super) path: Path,
    /// One value; a list for `in`.
    pub(super) expected: Value,
}

/// The result of a projection.
pub(super) enum Rows {
    /// There was nothing to project.
    Whole(Value),
    /// One list of column values per row.
    Table(Vec<Vec<Value>>),
}

/// The text of a path as parameters are named.
pub(super) fn path_text(path: &ast::Path) -> String {
    let mut text = String::new();
    for (position, segment) in path.segments.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = match segment {
            ast::Segment::Member { name, .. } if position == 0 => write!(text, "{name}"),
            ast::Segment::Member { name, is_quoted: true } => write!(text, "[{name}]"),
            ast::Segment::Member { name, is_quoted: false } => write!(text, ".{name}"),
            ast::Segment::Descendant(name) => write!(text, "..{name}"),
            ast::Segment::Index(index) => write!(text, "[{index}]"),
            ast::Segment::Wildcard => write!(text, "[*]"),
            ast::Segment::Slice { start, end, .. } => {
                let part = |part: &Option<i64>| part.map(|it| it.to_string()).unwrap_or_default();
                write!(text, "[{}:{}]", part(start), part(end))
            }
            ast::Segment::Filter(inner) => write!(text, "[?({inner})]"),
            ast::Segment::Computed(inner) => write!(text, "[({inner})]"),
        };
    }
    text
}

/// The path without `alias.` in front.
pub(super) fn without_alias(path: &ast::Path, alias: Option<&str>) -> ast::Path {
    match path.segments.as_slice() {
        [ast::Segment::Member { name, is_quoted: false }, _, ..]
            if Some(name.as_str()) == alias =>
        {
            ast::Path { segments: path.segments[1..].to_vec(), span: path.span }
        }
        _ => path.clone(),
    }
}

/// A path of a clause, ready to be followed.
pub(super) fn path_of(path: &ast::Path) -> Result<Path, Failure> {
    let expression =
        |text: &str| Expression::parse(text).map_err(|error| Failure::Failed(error.to_string()));
    let mut segments = Vec::new();
    for (position, segment) in path.segments.iter().enumerate() {
        segments.push(match segment {
            ast::Segment::Member { name, is_quoted: false } if name == "$" && position == 0 => {
                Segment::Root
            }
            ast::Segment::Member { name, .. } => Segment::Member(name.as_str().into()),
            ast::Segment::Descendant(name) => Segment::Descendant(name.as_str().into()),
            ast::Segment::Index(index) => Segment::Index(*index as usize),
            ast::Segment::Wildcard => Segment::Wildcard,
            ast::Segment::Slice { start, end, step } => {
                Segment::Slice { start: *start, end: *end, step: *step }
            }
            ast::Segment::Filter(text) => Segment::Filter(expression(text)?),
            ast::Segment::Computed(text) => Segment::Computed(expression(text)?),
        });
    }
    Ok(Path::from_segments(segments))
}

/// `[[x]]` is treated as `x`.
pub(super) fn unwrap(value: &Value) -> Value {
    let tree = value.into_tree();
    if let Value::Array(outer) = &tree
        && let [Value::Array(inner)] = outer.as_slice()
        && let [only] = inner.as_slice()
    {
        return only.clone();
    }
    tree
}

/// The rows for which every condition holds; a value that is no list is one row.
pub(super) fn filter(
    value: &Value,
    conditions: &[Condition],
    scope: &dyn Scope,
) -> Result<Value, Failure> {
    let value = unwrap(value);
    if conditions.is_empty() || value.is_nothing() {
        return Ok(value);
    }
    let passes = |row: &Value| -> Result<bool, Failure> {
        for condition in conditions {
            if !holds(condition, row, scope)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    let Value::Array(rows) = &value else {
        return Ok(if passes(&value)? { value } else { Value::array(Vec::new()) });
    };
    let mut kept = Vec::new();
    for row in rows.iter() {
        if passes(row)? {
            kept.push(row.clone());
        }
    }
    Ok(Value::array(kept))
}

/// Some match of the path equals some expected value.
pub(super) fn holds(
    condition: &Condition,
    row: &Value,
    scope: &dyn Scope,
) -> Result<bool, Failure> {
    let matches = select(&condition.path, row, true, scope)?;
    let expected = opened(&opened_once(&condition.expected));
    Ok(matches.iter().any(|found| expected.iter().any(|wanted| loosely_equal(found, wanted))))
}

fn opened_once(value: &Value) -> Vec<Value> {
    match value.into_tree() {
        Value::Array(elements) => elements.to_vec(),
        other => vec![other],
    }
}

fn opened(values: &[Value]) -> Vec<Value> {
    values.iter().flat_map(opened_once).collect()
}

fn select(
    path: &Path,
    row: &Value,
    flatten: bool,
    scope: &dyn Scope,
) -> Result<Vec<Value>, Failure> {
    let matches = path.select(row, scope, Options { flatten });
    matches.map_err(|error| Failure::Failed(error.to_string()))
}

/// One row of column values per element (SEL-7).
pub(super) fn project(
    value: &Value,
    columns: Option<&[Path]>,
    scope: &dyn Scope,
) -> Result<Rows, Failure> {
    let value = value.into_tree();
    let Some(columns) = columns else { return Ok(Rows::Whole(value)) };
    let elements = match &value {
        Value::Array(elements) if elements.is_empty() => return Ok(Rows::Whole(value)),
        Value::Array(elements) => elements.to_vec(),
        other if !other.is_truthy() => return Ok(Rows::Whole(value)),
        other => vec![other.clone()],
    };
    let mut rows = Vec::new();
    for element in &elements {
        let mut row = Vec::new();
        for path in columns {
            let mut matches = select(path, element, path.text().contains(".."), scope)?;
            row.push(match matches.len() {
                0 => Value::Absent,
                1 => matches.remove(0),
                _ => Value::array(matches),
            });
        }
        rows.push(row);
    }
    Ok(Rows::Table(rows))
}

/// Rows to objects, lists or bare values.
pub(super) fn shape(rows: Rows, aliases: &[Option<String>], is_join: bool) -> Value {
    let table = match rows {
        Rows::Whole(value) => return value,
        Rows::Table(table) => table,
    };
    let shape_row = |row: Vec<Value>| -> Value {
        if aliases.iter().any(Option::is_some) {
            let mut object = Object::new();
            for (alias, value) in aliases.iter().zip(row) {
                if let Some(alias) = alias
                    && !value.is_absent()
                {
                    object.insert(alias.as_str(), value);
                }
            }
            Value::object(object)
        } else if row.len() == 1 && !is_join {
            row.into_iter().next().map(or_null).unwrap_or_default()
        } else {
            Value::array(row.into_iter().map(or_null).collect())
        }
    };
    Value::array(table.into_iter().map(shape_row).collect())
}

fn or_null(value: Value) -> Value {
    if value.is_absent() { Value::Null } else { value }
}

/// `limit` and `offset` (SEL-22); a value that is no list stays as it is.
pub(super) fn cut(value: Value, select: &ast::Select) -> Value {
    let (limit, offset) = (select.limit.as_ref(), select.offset.as_ref());
    if limit.is_none() && offset.is_none() {
        return value;
    }
    let offset = offset.and_then(ast::Bound::count).map_or(0, |count| count as usize);
    let limit = limit.and_then(ast::Bound::count).map_or(usize::MAX, |count| count as usize);
    match value.into_tree() {
        Value::Array(rows) => rows.iter().skip(offset).take(limit).cloned().collect(),
        other => other,
    }
}
