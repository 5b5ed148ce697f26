//! Random selects, in both languages.

use super::{
    pair::Pair,
    random::Random,
    sources::{Scope, all_of, of_one},
};

/// A query in both languages.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) ql: String,
    pub(crate) sql: String,
    /// The columns of a row, which are called `x0` and so on.
    pub(crate) width: usize,
    /// Those that hold lists.
    pub(crate) lists: Vec<usize>,
    /// The order of the rows is decided.
    pub(crate) is_ordered: bool,
}

/// Makes one query.
pub(crate) struct Maker<'r> {
    pub(crate) random: &'r mut Random,
    /// How many aliases have been given.
    pub(crate) aliases: u32,
}

/// A random query.
pub(crate) fn question(random: &mut Random) -> Question {
    let mut maker = Maker { random, aliases: 0 };
    if maker.random.one_in(8) {
        return maker.union();
    }
    let scope = maker.scope(None);
    let is_grouped = maker.random.one_in(3);
    let mut made = if is_grouped { maker.grouped(&scope) } else { maker.plain(&scope) };
    maker.bound(&mut made);
    made
}

/// A test of the rows of `t`.
pub(crate) fn row_test(random: &mut Random) -> String {
    Maker { random, aliases: 0 }.test(&of_one(), 3).ql
}

/// A select that may stand in parentheses: of a number that is always there, a number and a text.
pub(crate) fn select_of_rows(maker: &mut Maker<'_>) -> Pair {
    let scope = of_one();
    let number = maker.number(&scope, 1);
    let text = maker.text(&scope, 1);
    let filter = maker.filter(&scope, 1);
    let select = "select id as id, {0} as x0, {1} as x1 from t{2}";
    if !maker.random.one_in(3) {
        return Pair::filled(select, select, &[&number, &text, &filter]);
    }
    let (ql_order, sql_order) = maker.direction();
    let limit = 1 + maker.random.below(4);
    Pair::filled(
        &format!("{select} order by x0{ql_order}, id limit {limit}"),
        &format!("{select} order by x0{sql_order}, id limit {limit}"),
        &[&number, &text, &filter],
    )
}

impl Maker<'_> {
    /// `where`, with the keys of the sources and perhaps a test.
    fn filter(&mut self, scope: &Scope, depth: u32) -> Pair {
        let mut terms = scope.keys.clone();
        if self.random.one_in(2) {
            let test = self.test(scope, depth);
            terms.push(Pair::filled("({0})", "({0})", &[&test]));
        }
        // A test of its own is not taken together with others.
        if self.random.one_in(3) {
            terms.push(self.test(scope, 0));
        }
        if terms.is_empty() {
            return Pair::same("");
        }
        Pair::filled(" where {0}", " where {0}", &[&all_of(&terms)])
    }

    /// A select of rows.
    fn plain(&mut self, scope: &Scope) -> Question {
        let width = 1 + self.random.below(3) as usize;
        let mut columns: Vec<Pair> = (0..width).map(|_| self.value(scope, 2)).collect();
        let is_distinct = self.random.one_in(3);
        let mut lists = Vec::new();
        if !is_distinct && self.random.one_in(4) {
            lists.push(width - 1);
            columns[width - 1] = self.list(scope);
        }
        let filter = self.filter(scope, 2);
        let distinct = if is_distinct { "distinct " } else { "" };
        let (ql, sql) = (named(&columns, true), named(&columns, false));
        let mut made = Question {
            ql: format!("select {distinct}{ql} from {}{}", scope.from.ql, filter.ql),
            sql: format!("select {distinct}{sql} from {}{}", scope.from.sql, filter.sql),
            width,
            lists,
            is_ordered: false,
        };
        let has_order = scope.unique.is_some() || made.lists.is_empty();
        if has_order && self.random.one_in(2) {
            let mut keys: Vec<Pair> =
                (0..width).map(|column| Pair::same(format!("x{column}"))).collect();
            match &scope.unique {
                Some(unique) if !is_distinct => {
                    keys.truncate(usize::from(made.lists != [0]));
                    keys.push(self.number(scope, 1));
                    keys.extend(unique.iter().cloned());
                }
                _ => {}
            }
            self.order(&mut made, &keys);
        }
        made
    }

    /// A select of groups, or of one.
    fn grouped(&mut self, scope: &Scope) -> Question {
        let own = scope.of_own();
        let keys: Vec<Pair> = (0..self.random.below(3)).map(|_| self.value(&own, 1)).collect();
        let mut columns = keys.clone();
        for _ in 0..=self.random.below(3) {
            columns.push(self.aggregated(scope));
        }
        let width = columns.len();
        let filter = self.filter(scope, 2);
        let (ql, sql) = (named(&columns, true), named(&columns, false));
        let mut made = Question {
            ql: format!("select {ql} from {}{}", scope.from.ql, filter.ql),
            sql: format!("select {sql} from {}{}", scope.from.sql, filter.sql),
            width,
            lists: Vec::new(),
            is_ordered: false,
        };
        if !keys.is_empty() {
            let list = |of: fn(&Pair) -> &str| keys.iter().map(of).collect::<Vec<_>>().join(", ");
            match self.random.below(3) {
                0 => made.ql.push_str(" group by all"),
                1 => {
                    let names: Vec<_> =
                        (0..keys.len()).map(|column| format!("x{column}")).collect();
                    made.ql.push_str(&format!(" group by {}", names.join(", ")));
                }
                _ => made.ql.push_str(&format!(" group by {}", list(|key| &key.ql))),
            }
            made.sql.push_str(&format!(" group by {}", list(|key| &key.sql)));
            if self.random.one_in(2) {
                let (left, right) = (self.aggregated(scope), self.random.below(3));
                made.ql.push_str(&format!(" having {} > {right} or count(*) == {right}", left.ql));
                made.sql.push_str(&format!(
                    " having coalesce({} > {right}, 0) or count(*) = {right}",
                    left.sql
                ));
            }
        }
        if self.random.one_in(2) {
            let keys: Vec<Pair> =
                (0..width).map(|column| Pair::same(format!("x{column}"))).collect();
            self.order(&mut made, &keys);
        }
        made
    }

    /// Two or three selects put together.
    fn union(&mut self) -> Question {
        let mut made = Question {
            ql: String::new(),
            sql: String::new(),
            width: 2,
            lists: Vec::new(),
            is_ordered: false,
        };
        let parts = 2 + self.random.below(2);
        for part in 0..parts {
            if part > 0 {
                let word = *self.random.of(&[" union ", " union all "]);
                made.ql.push_str(word);
                made.sql.push_str(word);
            }
            let scope = self.scope(None);
            let columns = [self.number(&scope, 1), self.text(&scope, 1)];
            let filter = self.filter(&scope, 2);
            let (ql, sql) = (named(&columns, true), named(&columns, false));
            made.ql.push_str(&format!("select {ql} from {}{}", scope.from.ql, filter.ql));
            made.sql.push_str(&format!("select {sql} from {}{}", scope.from.sql, filter.sql));
        }
        if self.random.one_in(2) {
            self.order(&mut made, &[Pair::same("x0"), Pair::same("x1")]);
            self.bound(&mut made);
        }
        made
    }

    /// `order by` keys that decide the place of every row, apart from rows that are the same.
    fn order(&mut self, made: &mut Question, keys: &[Pair]) {
        let mut ql = Vec::new();
        let mut sql = Vec::new();
        for key in keys {
            let (here, there) = self.direction();
            ql.push(format!("{}{here}", key.ql));
            sql.push(format!("{}{there}", key.sql));
        }
        made.ql.push_str(&format!(" order by {}", ql.join(", ")));
        made.sql.push_str(&format!(" order by {}", sql.join(", ")));
        made.is_ordered = true;
    }

    /// `limit` and `offset`, where the order says which rows they leave.
    fn bound(&mut self, made: &mut Question) {
        if !made.is_ordered || !self.random.one_in(2) {
            return;
        }
        let limit = self.random.below(6);
        let offset = if self.random.one_in(2) {
            format!(" offset {}", self.random.below(3))
        } else {
            String::new()
        };
        let text = format!(" limit {limit}{offset}");
        made.ql.push_str(&text);
        made.sql.push_str(&text);
    }
}

fn named(columns: &[Pair], is_ql: bool) -> String {
    let named = columns.iter().enumerate().map(|(number, column)| {
        let text = if is_ql { &column.ql } else { &column.sql };
        format!("{text} as x{number}")
    });
    named.collect::<Vec<_>>().join(", ")
}
