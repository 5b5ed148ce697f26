//! The statements of a script in text order, the blocks they stand in, and the names they read.

use qlio_data::template::Template;
use qlio_syntax::ast;

/// Which part of a block a statement stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Then,
    Else,
    Body,
    Catch(usize),
    Finally,
}

/// The kinds of statements.
#[derive(Debug)]
pub(super) enum Kind<'s> {
    Chain(&'s [ast::Primary]),
    If(&'s ast::Logic),
    Try(Vec<&'s ast::Logic>),
    Throw(&'s str),
}

#[derive(Debug)]
pub(super) struct Statement<'s> {
    pub(super) kind: Kind<'s>,
    pub(super) target: Option<&'s str>,
    /// The statement number of the block, and the part of it.
    pub(super) place: Option<(usize, Part)>,
    pub(super) reads: Vec<String>,
}

/// All statements, at any depth, in text order.
pub(super) fn statements(script: &ast::Script) -> Vec<Statement<'_>> {
    let mut found = Vec::new();
    collect(&script.items, None, &mut found);
    found
}

fn collect<'s>(
    items: &'s [ast::Item],
    place: Option<(usize, Part)>,
    found: &mut Vec<Statement<'s>>,
) {
    for item in items {
        let number = found.len();
        let (kind, target, reads) = match item {
            ast::Item::Statement(statement) => {
                let mut reads = Vec::new();
                for alternative in &statement.alternatives {
                    primary_reads(alternative, &mut reads);
                }
                let target = statement.target.as_ref().map(|target| target.text.as_str());
                (Kind::Chain(&statement.alternatives), target, reads)
            }
            ast::Item::If(node) => (Kind::If(&node.condition), None, logic_names(&node.condition)),
            ast::Item::Try(node) => {
                let conditions: Vec<_> =
                    node.catches.iter().map(|catch| &catch.condition).collect();
                let reads = conditions.iter().flat_map(|logic| logic_names(logic)).collect();
                (Kind::Try(conditions), None, reads)
            }
            ast::Item::Throw(node) => {
                (Kind::Throw(&node.name.text), None, vec![node.name.text.clone()])
            }
        };
        found.push(Statement { kind, target, place, reads });
        match item {
            ast::Item::If(node) => {
                collect(&node.then, Some((number, Part::Then)), found);
                let otherwise = node.otherwise.as_deref().unwrap_or_default();
                collect(otherwise, Some((number, Part::Else)), found);
            }
            ast::Item::Try(node) => {
                collect(&node.body, Some((number, Part::Body)), found);
                for (position, catch) in node.catches.iter().enumerate() {
                    collect(&catch.body, Some((number, Part::Catch(position))), found);
                }
                let finally = node.finally.as_deref().unwrap_or_default();
                collect(finally, Some((number, Part::Finally)), found);
            }
            ast::Item::Statement(_) | ast::Item::Throw(_) => {}
        }
    }
}

pub(super) fn logic_names(logic: &ast::Logic) -> Vec<String> {
    match logic {
        ast::Logic::Or(a, b) | ast::Logic::And(a, b) => [logic_names(a), logic_names(b)].concat(),
        ast::Logic::Not(inner) => logic_names(inner),
        ast::Logic::Name(path) => first_word(path).into_iter().collect(),
    }
}

/// The names that an alternative reads (EXE-17); names of nothing are among them.
pub(super) fn primary_reads(primary: &ast::Primary, reads: &mut Vec<String>) {
    match primary {
        ast::Primary::Json(json) => json_reads(json, reads),
        ast::Primary::Reference(name) => reads.push(name.text.clone()),
        ast::Primary::Select(select) => select_reads(select, reads),
        ast::Primary::Insert(insert) => {
            reads.push(insert.target.name.text.clone());
            reads.extend(insert.object.iter().flat_map(|object| text_reads(&object.text)));
            for value in insert.values.iter().flatten() {
                operand_reads(value, reads);
            }
        }
        ast::Primary::Update(update) => {
            reads.push(update.target.name.text.clone());
            reads.extend(text_reads(&update.object.text));
        }
        ast::Primary::Delete(delete) => {
            reads.push(delete.target.name.text.clone());
            delete.conditions.iter().for_each(|condition| condition_reads(condition, reads));
        }
        _ => {}
    }
}

fn select_reads(select: &ast::Select, reads: &mut Vec<String>) {
    let aliases: Vec<_> =
        select.sources.iter().filter_map(|source| source.alias.as_ref()).collect();
    let is_join = select.sources.len() > 1;
    for source in &select.sources {
        reads.push(source.name.text.clone());
    }
    if let ast::Columns::List(columns) = &select.columns {
        for column in columns {
            if let ast::ColumnValue::Path(path) = &column.value {
                for segment in &path.segments {
                    if let ast::Segment::Member { name, is_quoted: true } = segment {
                        reads.extend(text_reads(name));
                    }
                }
            }
        }
    }
    for condition in &select.conditions {
        if let ast::Condition::Equals { operand, .. } = condition
            && let ast::OperandKind::Path(path) = &operand.kind
            && let Some(word) = first_word(path)
            && is_join
            && aliases.iter().any(|alias| alias.text == word)
        {
            continue;
        }
        condition_reads(condition, reads);
    }
}

fn condition_reads(condition: &ast::Condition, reads: &mut Vec<String>) {
    match condition {
        ast::Condition::Equals { operand, .. } => operand_reads(operand, reads),
        ast::Condition::InList { items, .. } => {
            for item in items {
                operand_reads(item, reads);
            }
        }
        ast::Condition::InSelect { select, .. } => select_reads(select, reads),
        ast::Condition::Call(_) | ast::Condition::Test(_) => {}
    }
}

fn operand_reads(operand: &ast::Operand, reads: &mut Vec<String>) {
    match &operand.kind {
        ast::OperandKind::Text(text) => reads.extend(text_reads(text)),
        ast::OperandKind::Path(path) => reads.extend(first_word(path)),
        _ => {}
    }
}

fn json_reads(json: &ast::Json, reads: &mut Vec<String>) {
    match &json.kind {
        ast::JsonKind::String(text) => reads.extend(text_reads(text)),
        ast::JsonKind::Array(elements) => {
            for element in elements {
                json_reads(element, reads);
            }
        }
        ast::JsonKind::Object(members) => {
            for member in members {
                json_reads(&member.value, reads);
            }
        }
        _ => {}
    }
}

fn text_reads(text: &str) -> Vec<String> {
    Template::parse(text).roots().into_iter().map(str::to_owned).collect()
}

pub(super) fn first_word(path: &ast::Path) -> Option<String> {
    match path.segments.first() {
        Some(ast::Segment::Member { name, is_quoted: false }) => Some(name.clone()),
        _ => None,
    }
}
