//! Random selects, in both languages.

use super::random::Random;

/// A query in both languages.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) ql: String,
    pub(crate) sql: String,
    /// The columns of a row, which are called `x0` and so on.
    pub(crate) width: usize,
    /// The order of the rows is decided.
    pub(crate) is_ordered: bool,
}

/// The same expression in both languages.
#[derive(Clone)]
struct Pair {
    ql: String,
    sql: String,
}

impl Pair {
    fn new(ql: impl Into<String>, sql: impl Into<String>) -> Self {
        Self { ql: ql.into(), sql: sql.into() }
    }

    fn same(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { ql: text.clone(), sql: text }
    }

    /// The texts of both put into a text with `{0}` and `{1}`.
    fn filled(ql: &str, sql: &str, parts: &[&Self]) -> Self {
        let mut pair = Self::new(ql, sql);
        for (number, part) in parts.iter().enumerate() {
            let place = format!("{{{number}}}");
            pair.ql = pair.ql.replace(&place, &part.ql);
            pair.sql = pair.sql.replace(&place, &part.sql);
        }
        pair
    }
}

/// What a select reads: its sources, and their columns by kind.
struct Scope {
    from: Pair,
    /// A test that is always there: the keys of a join.
    keys: Option<Pair>,
    numbers: Vec<&'static str>,
    texts: Vec<&'static str>,
    /// Columns whose values together tell rows apart.
    unique: Vec<&'static str>,
}

impl Scope {
    fn new(random: &mut Random) -> Self {
        if random.one_in(5) {
            // The comma join joins null with null.
            return Self {
                from: Pair::same("t as t, u as u"),
                keys: Some(Pair::new("t.a = u.k", "t.a is u.k")),
                numbers: vec!["t.id", "t.a", "t.c", "u.k", "u.v"],
                texts: vec!["t.b", "u.w"],
                unique: Vec::new(),
            };
        }
        Self::of_one()
    }

    fn of_one() -> Self {
        Self {
            from: Pair::same("t"),
            keys: None,
            numbers: vec!["id", "a", "c"],
            texts: vec!["b"],
            unique: vec!["id"],
        }
    }
}

/// A random query.
pub(crate) fn question(random: &mut Random) -> Question {
    if random.one_in(8) {
        return union(random);
    }
    let scope = Scope::new(random);
    let mut made = if random.one_in(2) { grouped(random, &scope) } else { plain(random, &scope) };
    bound(random, &mut made);
    made
}

/// A test of the rows of `t`.
pub(crate) fn row_test(random: &mut Random) -> String {
    test(random, &Scope::of_one(), 3).ql
}

fn where_clause(random: &mut Random, scope: &Scope) -> Pair {
    let test = if random.one_in(3) { None } else { Some(test(random, scope, 2)) };
    match (&scope.keys, test) {
        (None, None) => Pair::same(""),
        (Some(keys), None) => Pair::filled(" where {0}", " where {0}", &[keys]),
        (None, Some(test)) => Pair::filled(" where {0}", " where {0}", &[&test]),
        (Some(keys), Some(test)) => {
            Pair::filled(" where {0} and ({1})", " where {0} and ({1})", &[keys, &test])
        }
    }
}

/// A select of rows.
fn plain(random: &mut Random, scope: &Scope) -> Question {
    let width = 1 + random.below(3) as usize;
    let columns: Vec<Pair> = (0..width).map(|_| value(random, scope, 2)).collect();
    let is_distinct = random.one_in(3);
    let filter = where_clause(random, scope);
    let distinct = if is_distinct { "distinct " } else { "" };
    let mut made = Question {
        ql: format!(
            "select {distinct}{} from {}{}",
            named(&columns, true),
            scope.from.ql,
            filter.ql
        ),
        sql: format!(
            "select {distinct}{} from {}{}",
            named(&columns, false),
            scope.from.sql,
            filter.sql
        ),
        width,
        is_ordered: false,
    };
    if random.one_in(2) {
        let mut keys: Vec<Pair> =
            (0..width).map(|column| Pair::same(format!("x{column}"))).collect();
        if !is_distinct && !scope.unique.is_empty() {
            keys.truncate(1);
            keys.push(number(random, scope, 1));
            keys.extend(scope.unique.iter().map(|column| Pair::same(*column)));
        }
        order(random, &mut made, &keys);
    }
    made
}

/// A select of groups, or of one.
fn grouped(random: &mut Random, scope: &Scope) -> Question {
    let keys: Vec<Pair> = (0..random.below(3)).map(|_| value(random, scope, 1)).collect();
    let mut columns = keys.clone();
    for _ in 0..=random.below(3) {
        columns.push(aggregated(random, scope));
    }
    let width = columns.len();
    let filter = where_clause(random, scope);
    let mut made = Question {
        ql: format!("select {} from {}{}", named(&columns, true), scope.from.ql, filter.ql),
        sql: format!("select {} from {}{}", named(&columns, false), scope.from.sql, filter.sql),
        width,
        is_ordered: false,
    };
    if !keys.is_empty() {
        let list = |of: fn(&Pair) -> &str| keys.iter().map(of).collect::<Vec<_>>().join(", ");
        match random.below(3) {
            0 => made.ql.push_str(" group by all"),
            1 => {
                let names: Vec<_> = (0..keys.len()).map(|column| format!("x{column}")).collect();
                made.ql.push_str(&format!(" group by {}", names.join(", ")));
            }
            _ => made.ql.push_str(&format!(" group by {}", list(|key| &key.ql))),
        }
        made.sql.push_str(&format!(" group by {}", list(|key| &key.sql)));
        if random.one_in(2) {
            let (left, right) = (aggregated(random, scope), random.below(3));
            made.ql.push_str(&format!(" having {} > {right} or count(*) == {right}", left.ql));
            made.sql.push_str(&format!(
                " having coalesce({} > {right}, 0) or count(*) = {right}",
                left.sql
            ));
        }
    }
    if random.one_in(2) {
        let keys: Vec<Pair> = (0..width).map(|column| Pair::same(format!("x{column}"))).collect();
        order(random, &mut made, &keys);
    }
    made
}

/// Two or three selects put together.
fn union(random: &mut Random) -> Question {
    let mut made = Question { ql: String::new(), sql: String::new(), width: 2, is_ordered: false };
    let parts = 2 + random.below(2);
    for part in 0..parts {
        if part > 0 {
            let word = random.of(&[" union ", " union all "]);
            made.ql.push_str(word);
            made.sql.push_str(word);
        }
        let scope = Scope::new(random);
        let columns = [number(random, &scope, 1), text(random, &scope, 1)];
        let filter = where_clause(random, &scope);
        let (ql, sql) = (named(&columns, true), named(&columns, false));
        made.ql.push_str(&format!("select {ql} from {}{}", scope.from.ql, filter.ql));
        made.sql.push_str(&format!("select {sql} from {}{}", scope.from.sql, filter.sql));
    }
    if random.one_in(2) {
        order(random, &mut made, &[Pair::same("x0"), Pair::same("x1")]);
        bound(random, &mut made);
    }
    made
}

fn named(columns: &[Pair], is_ql: bool) -> String {
    let named = columns.iter().enumerate().map(|(number, column)| {
        let text = if is_ql { &column.ql } else { &column.sql };
        format!("{text} as x{number}")
    });
    named.collect::<Vec<_>>().join(", ")
}

/// `order by` keys that decide the place of every row, apart from rows that are the same.
fn order(random: &mut Random, made: &mut Question, keys: &[Pair]) {
    let mut words = Vec::new();
    for _ in keys {
        let direction = random.of(&["", " asc", " desc"]);
        words.push((direction, random.of(&["", " nulls first", " nulls last"])));
    }
    let ql: Vec<_> = keys
        .iter()
        .zip(&words)
        .map(|(key, (direction, nulls))| format!("{}{direction}{nulls}", key.ql))
        .collect();
    let sql: Vec<_> = keys
        .iter()
        .zip(&words)
        .map(|(key, (direction, nulls))| {
            let nulls = if nulls.is_empty() { " nulls last" } else { nulls };
            format!("{}{direction}{nulls}", key.sql)
        })
        .collect();
    made.ql.push_str(&format!(" order by {}", ql.join(", ")));
    made.sql.push_str(&format!(" order by {}", sql.join(", ")));
    made.is_ordered = true;
}

/// `limit` and `offset`, where the order says which rows they leave.
fn bound(random: &mut Random, made: &mut Question) {
    if !made.is_ordered || random.one_in(2) {
        return;
    }
    let limit = random.below(6);
    let offset =
        if random.one_in(2) { format!(" offset {}", random.below(3)) } else { String::new() };
    let text = format!(" limit {limit}{offset}");
    made.ql.push_str(&text);
    made.sql.push_str(&text);
}

fn value(random: &mut Random, scope: &Scope, depth: u32) -> Pair {
    if random.one_in(3) { text(random, scope, depth) } else { number(random, scope, depth) }
}

fn number(random: &mut Random, scope: &Scope, depth: u32) -> Pair {
    let column = Pair::same(random.of(&scope.numbers));
    if depth == 0 || random.one_in(2) {
        return column;
    }
    let inner = number(random, scope, depth - 1);
    let right = match random.below(3) {
        0 => column,
        _ => Pair::same(random.of(&["1", "2", "0.5", "3"])),
    };
    let (ql, sql) = match random.below(9) {
        0 => ("({0} + {1})", "({0} + {1})"),
        1 => ("({0} - {1})", "({0} - {1})"),
        2 => ("({0} * {1})", "({0} * {1})"),
        3 => ("({0} / 2)", "({0} / 2.0)"),
        4 => ("coalesce({0}, {1})", "coalesce({0}, {1})"),
        5 => ("abs({0} - {1})", "abs({0} - {1})"),
        6 => ("(-{0})", "(-{0})"),
        7 => ("nullif({0}, {1})", "nullif({0}, {1})"),
        _ => {
            let test = test(random, scope, depth - 1);
            let text = "case when {2} then {0} else {1} end";
            return Pair::filled(text, text, &[&inner, &right, &test]);
        }
    };
    Pair::filled(ql, sql, &[&inner, &right])
}

fn text(random: &mut Random, scope: &Scope, depth: u32) -> Pair {
    let column = Pair::same(random.of(&scope.texts));
    if depth == 0 || random.one_in(2) {
        return column;
    }
    let inner = text(random, scope, depth - 1);
    let (ql, sql) = match random.below(5) {
        0 => ("({0} & 'x')", "({0} || 'x')"),
        1 => ("upper({0})", "upper({0})"),
        2 => ("coalesce({0}, 'none')", "coalesce({0}, 'none')"),
        3 => ("replace({0}, 'a', 'cc')", "replace({0}, 'a', 'cc')"),
        _ => ("substring({0}, 2, 1)", "substr({0}, 2, 1)"),
    };
    Pair::filled(ql, sql, &[&inner])
}

/// A test that is true or false here; in SQL null counts as false.
fn test(random: &mut Random, scope: &Scope, depth: u32) -> Pair {
    if depth > 0 && random.one_in(2) {
        let (left, right) = (test(random, scope, depth - 1), test(random, scope, depth - 1));
        let text =
            random.of(&["({0} and {1})", "({0} or {1})", "not ({0})", "({0} and not ({1}))"]);
        return Pair::filled(text, text, &[&left, &right]);
    }
    if random.one_in(3) {
        let (left, right) = (text(random, scope, 1), Pair::same(random.of(&scope.texts)));
        let (ql, sql) = match random.below(6) {
            0 => ("{0} == {1}", "{0} is {1}"),
            1 => ("{0} < {1}", "coalesce({0} < {1}, 0)"),
            2 => ("{0} like 'a%'", "coalesce({0} like 'a%', 0)"),
            3 => ("{0} not like '_b'", "not coalesce({0} like '_b', 0)"),
            4 => ("{0} in ('a', 'B')", "coalesce({0} in ('a', 'B'), 0)"),
            _ => ("{0} is not null", "{0} is not null"),
        };
        return Pair::filled(ql, sql, &[&left, &right]);
    }
    let (left, right) = (number(random, scope, 1), number(random, scope, 1));
    let (ql, sql) = match random.below(9) {
        0 => ("{0} == {1}", "{0} is {1}"),
        1 => ("{0} != {1}", "{0} is not {1}"),
        2 => ("{0} < {1}", "coalesce({0} < {1}, 0)"),
        3 => ("{0} >= {1}", "coalesce({0} >= {1}, 0)"),
        4 => ("{0} between 1 and {1}", "coalesce({0} between 1 and {1}, 0)"),
        5 => ("{0} not between {1} and 2", "not coalesce({0} between {1} and 2, 0)"),
        6 => ("{0} in (0, 1, 2.5)", "coalesce({0} in (0, 1, 2.5), 0)"),
        7 => ("{0} is null", "{0} is null"),
        _ => ("{0} = 1", "coalesce({0} = 1, 0)"),
    };
    Pair::filled(ql, sql, &[&left, &right])
}

fn aggregated(random: &mut Random, scope: &Scope) -> Pair {
    let inner = number(random, scope, 1);
    let (ql, sql) = match random.below(10) {
        0 => ("count(*)", "count(*)"),
        1 => ("count({0})", "count({0})"),
        2 => ("count(distinct {0})", "count(distinct {0})"),
        3 => ("sum({0})", "sum({0})"),
        4 => ("sum(distinct {0})", "sum(distinct {0})"),
        5 => ("avg({0})", "avg({0})"),
        6 => ("min({0})", "min({0})"),
        7 => ("max({0})", "max({0})"),
        8 => (
            "(max({0}) - coalesce(min({0}), 0) + count(*))",
            "(max({0}) - coalesce(min({0}), 0) + count(*))",
        ),
        _ => {
            let test = test(random, scope, 1);
            let text = random.of(&["count(*) filter (where {0})", "sum({1}) filter (where {0})"]);
            return Pair::filled(text, text, &[&test, &inner]);
        }
    };
    Pair::filled(ql, sql, &[&inner])
}
