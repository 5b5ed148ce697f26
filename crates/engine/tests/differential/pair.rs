//! The same text in both languages.

/// An expression, or a part of a query, in both languages.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    pub(crate) ql: String,
    pub(crate) sql: String,
    /// For what may be absent here, where it is null there: the text that tells that it is not.
    pub(crate) present: Option<String>,
}

impl Pair {
    pub(crate) fn new(ql: impl Into<String>, sql: impl Into<String>) -> Self {
        Self { ql: ql.into(), sql: sql.into(), present: None }
    }

    pub(crate) fn same(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::new(text.clone(), text)
    }

    /// Both texts with those of the parts in place of `{0}`, `{1}` and so on. It must not be absent if a part
    /// is.
    pub(crate) fn filled(ql: &str, sql: &str, parts: &[&Self]) -> Self {
        Self::new(
            fill(ql, parts, |part| part.ql.clone()),
            fill(sql, parts, |part| part.sql.clone()),
        )
    }

    /// The same, of an expression that gives one of its parts.
    pub(crate) fn choosing(ql: &str, sql: &str, parts: &[&Self]) -> Self {
        let mut made = Self::filled(ql, sql, parts);
        if parts.iter().any(|part| part.present.is_some()) {
            made.ql = format!("coalesce({}, null)", made.ql);
        }
        made
    }

    /// A value that is null if it is not there.
    pub(crate) fn settled(&self) -> Self {
        match self.present {
            None => self.clone(),
            Some(_) => Self::new(format!("coalesce({}, null)", self.ql), self.sql.clone()),
        }
    }

    /// Whether two are equal: null is, what is absent is not.
    pub(crate) fn equals(operator: &str, left: &Self, right: &Self) -> Self {
        let mut sql = format!("({} is {}", left.sql, right.sql);
        for present in [left, right].into_iter().filter_map(|side| side.present.as_deref()) {
            sql.push_str(&format!(" and {present}"));
        }
        sql.push(')');
        Self::new(format!("{} {operator} {}", left.ql, right.ql), sql)
    }

    /// The same, but null equals nothing either.
    pub(crate) fn meets(operator: &str, left: &Self, right: &Self) -> Self {
        Self::new(
            format!("{} {operator} {}", left.ql, right.ql),
            format!("coalesce({} = {}, 0)", left.sql, right.sql),
        )
    }
}

/// In one pass, so that what stands inside of parts stays.
fn fill(text: &str, parts: &[&Pair], of: impl Fn(&Pair) -> String) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        filled.push_str(before);
        let (number, behind) = behind.split_once('}').expect("the number of a part");
        filled.push_str(&of(parts[number.parse::<usize>().expect("a number")]));
        rest = behind;
    }
    filled + rest
}
