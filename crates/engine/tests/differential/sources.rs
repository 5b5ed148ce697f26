//! What a query reads: up to four sources, joined in any of the ways there are.

use super::{
    pair::Pair,
    query::{Maker, select_of_rows},
    tables::{LAYOUTS, Layout},
};

/// The most sources of a select that stands by itself, and of one inside of an expression.
const SOURCES_MAX: u32 = 4;
const SOURCES_INSIDE_MAX: u32 = 2;

/// The columns that an expression may name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    pub(crate) numbers: Vec<Pair>,
    pub(crate) texts: Vec<Pair>,
}

impl Columns {
    fn extend(&mut self, other: &Self) {
        self.numbers.extend(other.numbers.iter().cloned());
        self.texts.extend(other.texts.iter().cloned());
    }

    pub(crate) fn with(&self, other: &Self) -> Self {
        let mut both = self.clone();
        both.extend(other);
        both
    }
}

/// The sources of a select.
pub(crate) struct Scope {
    pub(crate) from: Pair,
    /// Tests of `where` that are always there.
    pub(crate) keys: Vec<Pair>,
    pub(crate) columns: Columns,
    /// Those of the selects around.
    pub(crate) around: Columns,
    /// Columns whose values together tell rows apart, if some do.
    pub(crate) unique: Option<Vec<Pair>>,
    /// How many selects are around.
    pub(crate) depth: u32,
    /// A bare word is a column of the lone source, so nothing inside can name it.
    pub(crate) is_bare: bool,
}

impl Scope {
    /// Only the columns of the select itself.
    pub(crate) fn of_own(&self) -> Self {
        Self {
            from: Pair::same(""),
            keys: Vec::new(),
            columns: self.columns.clone(),
            around: Columns::default(),
            unique: None,
            depth: u32::MAX,
            is_bare: true,
        }
    }
}

/// A list of a source that is there.
#[derive(Clone)]
struct List {
    column: Pair,
    is_of_objects: bool,
}

/// A source that is being added.
struct Source {
    text: Pair,
    columns: Columns,
    lists: Vec<List>,
    unique: Option<Vec<Pair>>,
}

impl Maker<'_> {
    /// The sources of a select; `around` are those of the selects that it stands in.
    pub(crate) fn scope(&mut self, around: Option<&Scope>) -> Scope {
        let depth = around.map_or(0, |around| around.depth + 1);
        if around.is_none() && !self.random.one_in(2) {
            return bare(&LAYOUTS[0]);
        }
        let first = self.table();
        let mut scope = Scope {
            from: first.text,
            keys: Vec::new(),
            columns: first.columns,
            around: around.map(|around| around.columns.with(&around.around)).unwrap_or_default(),
            unique: first.unique,
            depth,
            is_bare: false,
        };
        let mut lists = first.lists;
        let most = if depth == 0 { SOURCES_MAX } else { SOURCES_INSIDE_MAX };
        for _ in 0..self.random.below(most) {
            self.join(&mut scope, &mut lists);
        }
        scope
    }

    fn join(&mut self, scope: &mut Scope, lists: &mut Vec<List>) {
        let is_list = !lists.is_empty() && self.random.one_in(3);
        let added = if is_list {
            let list = self.random.of(lists).clone();
            self.elements(&list)
        } else if self.random.one_in(5) {
            self.derived()
        } else {
            self.table()
        };
        let Source { text, mut columns, lists: own_lists, unique } = added;
        match self.random.below(3) {
            0 => {
                scope.from = Pair::filled("{0}, {1}", "{0}, {1}", &[&scope.from, &text]);
                if !is_list && !self.random.one_in(5) {
                    // There, null meets null.
                    let operator = *self.random.of(&["=", "=="]);
                    let (left, right) = self.key(scope, &columns);
                    scope.keys.push(Pair::equals(operator, &left, &right));
                }
            }
            1 if is_list => {
                scope.from = Pair::filled("{0} join {1}", "{0} join {1}", &[&scope.from, &text]);
            }
            1 => {
                let on = self.on(scope, &columns);
                let text = [&scope.from, &text, &on];
                scope.from = Pair::filled("{0} join {1} on {2}", "{0} join {1} on {2}", &text);
            }
            _ => {
                if is_list && !self.random.one_in(3) {
                    let text = [&scope.from, &text];
                    scope.from = Pair::filled("{0} left join {1}", "{0} left join {1} on 1", &text);
                } else {
                    let on = self.on(scope, &columns);
                    let text = [&scope.from, &text, &on];
                    let joined = "{0} left join {1} on {2}";
                    scope.from = Pair::filled(joined, joined, &text);
                }
                let alias = format!("a{}", self.aliases - 1);
                let present = if is_list { "type" } else { "id" };
                let present = format!("{alias}.{present} is not null");
                for column in columns.numbers.iter_mut().chain(&mut columns.texts) {
                    // What tells that a member is there tells that the row is.
                    column.present.get_or_insert_with(|| present.clone());
                }
            }
        }
        scope.columns.extend(&columns);
        lists.extend(own_lists);
        scope.unique = match (scope.unique.take(), unique) {
            (Some(mut all), Some(own)) => {
                all.extend(own);
                Some(all)
            }
            _ => None,
        };
    }

    /// Two values that a new source is found by: one of what is there, one of its own.
    fn key(&mut self, scope: &Scope, columns: &Columns) -> (Pair, Pair) {
        if self.random.one_in(4) {
            return (self.random.of(&scope.columns.texts).clone(), self.of_texts(columns));
        }
        let mut own = scope.of_own();
        let left = if self.random.one_in(5) {
            self.number(&own, 1)
        } else {
            self.random.of(&scope.columns.numbers).clone()
        };
        own.columns = columns.clone();
        let right = if self.random.one_in(6) {
            self.number(&own, 1)
        } else {
            self.random.of(&columns.numbers).clone()
        };
        if self.random.one_in(2) { (right, left) } else { (left, right) }
    }

    fn of_texts(&mut self, columns: &Columns) -> Pair {
        if columns.texts.is_empty() {
            return Pair::same("'a'");
        }
        self.random.of(&columns.texts).clone()
    }

    /// What decides who is a partner: mostly keys, which null never meets, and perhaps a test of both.
    fn on(&mut self, scope: &Scope, columns: &Columns) -> Pair {
        let mut own = scope.of_own();
        own.columns.extend(columns);
        let mut terms = Vec::new();
        if !self.random.one_in(6) {
            let operator = *self.random.of(&["=", "=="]);
            let (left, right) = self.key(scope, columns);
            terms.push(Pair::meets(operator, &left, &right));
        }
        if terms.is_empty() || self.random.one_in(3) {
            let test = self.test(&own, 1);
            terms.push(no_key(&test));
        }
        if self.random.one_in(2) {
            terms.reverse();
        }
        let all = all_of(&terms);
        if self.random.one_in(4) { Pair::filled("({0})", "({0})", &[&all]) } else { all }
    }

    fn next_alias(&mut self) -> String {
        self.aliases += 1;
        format!("a{}", self.aliases - 1)
    }

    fn table(&mut self) -> Source {
        let layout = self.random.of(&LAYOUTS);
        let alias = self.next_alias();
        let of = |columns: &[&str]| {
            columns.iter().map(|column| Pair::same(format!("{alias}.{column}"))).collect()
        };
        let list = |column: &str, is_of_objects| List {
            column: Pair::same(format!("{alias}.{column}")),
            is_of_objects,
        };
        Source {
            text: Pair::same(format!("{} as {alias}", layout.name)),
            columns: Columns { numbers: of(layout.numbers), texts: of(layout.texts) },
            lists: vec![list(layout.scalars, false), list(layout.objects, true)],
            unique: Some(of(&["id"])),
        }
    }

    /// The elements of a list.
    fn elements(&mut self, list: &List) -> Source {
        let alias = self.next_alias();
        let text = Pair::filled(
            &format!("{{0}} as {alias}"),
            &format!("json_each({{0}}) as {alias}"),
            &[&list.column],
        );
        let mut columns = Columns::default();
        if list.is_of_objects {
            let member = |name: &str| Pair {
                ql: format!("{alias}.{name}"),
                sql: format!("({alias}.value ->> '$.{name}')"),
                present: Some(format!("json_type({alias}.value, '$.{name}') is not null")),
            };
            columns.numbers.push(member("n"));
            columns.texts.push(member("s"));
        } else {
            columns.numbers.push(Pair::new(alias.as_str(), format!("{alias}.value")));
        }
        Source { text, columns, lists: Vec::new(), unique: None }
    }

    /// A select in parentheses.
    fn derived(&mut self) -> Source {
        let select = select_of_rows(self);
        let alias = self.next_alias();
        let shown = |column: &str| Pair::same(format!("{alias}.{column}"));
        Source {
            text: Pair::new(
                format!("({}) as {alias}", select.ql),
                format!("({}) as {alias}", select.sql),
            ),
            columns: Columns { numbers: vec![shown("id"), shown("x0")], texts: vec![shown("x1")] },
            lists: Vec::new(),
            unique: None,
        }
    }
}

/// A lone table without an alias.
fn bare(layout: &Layout) -> Scope {
    let of = |columns: &[&str]| columns.iter().map(|column| Pair::same(*column)).collect();
    Scope {
        from: Pair::same(layout.name),
        keys: Vec::new(),
        columns: Columns { numbers: of(layout.numbers), texts: of(layout.texts) },
        around: Columns::default(),
        unique: Some(of(&["id"])),
        depth: 0,
        is_bare: true,
    }
}

/// A lone table, of which tests are made.
pub(crate) fn of_one() -> Scope {
    let mut scope = bare(&LAYOUTS[0]);
    scope.depth = u32::MAX;
    scope
}

/// A test in which null equals null, wherever it stands.
pub(crate) fn no_key(test: &Pair) -> Pair {
    Pair::filled("({0} or false)", "({0} or 0)", &[test])
}

pub(crate) fn all_of(terms: &[Pair]) -> Pair {
    let mut terms = terms.iter();
    let first = terms.next().expect("a term").clone();
    terms.fold(first, |all, term| Pair::filled("{0} and {1}", "{0} and {1}", &[&all, term]))
}
