//! Numbers, texts, tests and aggregates of the columns in scope.

use super::{
    pair::Pair,
    query::Maker,
    sources::{Scope, all_of, no_key},
};

/// The most selects that stand one inside the other.
const DEPTH_MAX: u32 = 2;

impl Maker<'_> {
    /// A select can stand inside of an expression here.
    fn has_room(&mut self, scope: &Scope, depth: u32) -> bool {
        depth > 0 && scope.depth < DEPTH_MAX && self.random.one_in(6)
    }

    fn number_column(&mut self, scope: &Scope) -> Pair {
        let is_around = !scope.around.numbers.is_empty() && self.random.one_in(4);
        let columns = if is_around { &scope.around } else { &scope.columns };
        self.random.of(&columns.numbers).clone()
    }

    fn text_column(&mut self, scope: &Scope) -> Pair {
        let is_around = !scope.around.texts.is_empty() && self.random.one_in(4);
        let columns = if is_around { &scope.around } else { &scope.columns };
        if columns.texts.is_empty() {
            return Pair::same("'a'");
        }
        self.random.of(&columns.texts).clone()
    }

    /// A number or a text.
    pub(crate) fn value(&mut self, scope: &Scope, depth: u32) -> Pair {
        if self.random.one_in(3) { self.text(scope, depth) } else { self.number(scope, depth) }
    }

    pub(crate) fn number(&mut self, scope: &Scope, depth: u32) -> Pair {
        let column = self.number_column(scope);
        if depth == 0 || !self.random.one_in(2) {
            return column;
        }
        if self.has_room(scope, depth) {
            return self.one_number(scope);
        }
        let inner = self.number(scope, depth - 1);
        let right = match self.random.below(3) {
            0 => Pair::same(*self.random.of(&["1", "2", "0.5", "3"])),
            _ => column,
        };
        let parts = &[&inner, &right];
        let same = |text: &str| Pair::filled(text, text, parts);
        let choosing = |text: &str| Pair::choosing(text, text, parts);
        match self.random.below(9) {
            0 => same("({0} + {1})"),
            1 => same("({0} - {1})"),
            2 => same("({0} * {1})"),
            3 => Pair::filled("({0} / 2)", "({0} / 2.0)", parts),
            4 => choosing("coalesce({0}, {1})"),
            5 => same("abs({0} - {1})"),
            6 => same("(-{0})"),
            7 => choosing("nullif({0}, {1})"),
            _ => {
                let test = self.test(scope, depth - 1);
                let text = "case when {2} then {0} else {1} end";
                Pair::choosing(text, text, &[&inner, &right, &test])
            }
        }
    }

    pub(crate) fn text(&mut self, scope: &Scope, depth: u32) -> Pair {
        let column = self.text_column(scope);
        if depth == 0 || !self.random.one_in(2) {
            return column;
        }
        let inner = self.text(scope, depth - 1);
        let (ql, sql) = match self.random.below(5) {
            0 => ("({0} & 'x')", "({0} || 'x')"),
            1 => ("upper({0})", "upper({0})"),
            2 => ("coalesce({0}, 'none')", "coalesce({0}, 'none')"),
            3 => ("replace({0}, 'a', 'cc')", "replace({0}, 'a', 'cc')"),
            _ => ("substring({0}, 2, 1)", "substr({0}, 2, 1)"),
        };
        Pair::filled(ql, sql, &[&inner])
    }

    /// A test that is true or false here; in SQL null counts as false.
    pub(crate) fn test(&mut self, scope: &Scope, depth: u32) -> Pair {
        if self.has_room(scope, depth) {
            return if self.random.one_in(3) { self.member(scope) } else { self.exists(scope) };
        }
        if depth > 0 && self.random.one_in(2) {
            let (left, right) = (self.test(scope, depth - 1), self.test(scope, depth - 1));
            let texts = ["({0} and {1})", "({0} or {1})", "not ({0})", "({0} and not ({1}))"];
            let text = *self.random.of(&texts);
            return Pair::filled(text, text, &[&left, &right]);
        }
        if self.random.one_in(3) { self.text_test(scope) } else { self.number_test(scope) }
    }

    fn text_test(&mut self, scope: &Scope) -> Pair {
        let (left, right) = (self.text(scope, 1), self.text_column(scope));
        // A text alone to the left of a test would be a mistake.
        let left =
            if left.ql.starts_with('\'') { Pair::filled("({0})", "{0}", &[&left]) } else { left };
        let (ql, sql) = match self.random.below(6) {
            0 => return Pair::equals("==", &left, &right),
            1 => ("{0} < {1}", "coalesce({0} < {1}, 0)"),
            2 => ("{0} like 'a%'", "coalesce({0} like 'a%', 0)"),
            3 => ("{0} not like '_b'", "not coalesce({0} like '_b', 0)"),
            4 => ("{0} in ('a', 'B')", "coalesce({0} in ('a', 'B'), 0)"),
            _ => ("{0} is not null", "{0} is not null"),
        };
        Pair::filled(ql, sql, &[&left, &right])
    }

    fn number_test(&mut self, scope: &Scope) -> Pair {
        let (left, right) = (self.number(scope, 1), self.number(scope, 1));
        let (ql, sql) = match self.random.below(9) {
            0 => return Pair::equals("==", &left, &right),
            1 => {
                let equal = Pair::equals("!=", &left, &right);
                return Pair::new(equal.ql, format!("not {}", equal.sql));
            }
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

    /// What is computed of the rows of a group; of nothing else.
    pub(crate) fn aggregated(&mut self, scope: &Scope) -> Pair {
        let own = scope.of_own();
        let inner = self.number(&own, 1);
        let kind = self.random.below(10);
        if kind == 9 {
            let test = self.test(&own, 1);
            let texts = ["count(*) filter (where {0})", "sum({1}) filter (where {0})"];
            let text = *self.random.of(&texts);
            return Pair::filled(text, text, &[&test, &inner]);
        }
        let text = [
            "count(*)",
            "count({0})",
            "count(distinct {0})",
            "sum({0})",
            "sum(distinct {0})",
            "avg({0})",
            "min({0})",
            "max({0})",
            "(max({0}) - coalesce(min({0}), 0) + count(*))",
        ][kind as usize];
        Pair::filled(text, text, &[&inner])
    }

    /// What the rows inside have in common with the row around: null meets nothing there.
    fn inside(&mut self, scope: &Scope) -> (Scope, Pair) {
        let around = if scope.is_bare { None } else { Some(scope) };
        let mut inside =
            self.scope(Some(around.unwrap_or(&Scope { depth: scope.depth, ..scope_of_nothing() })));
        let mut terms = std::mem::take(&mut inside.keys);
        if !inside.around.numbers.is_empty() && !self.random.one_in(5) {
            let operator = *self.random.of(&["=", "=="]);
            let own = self.random.of(&inside.columns.numbers).clone();
            let other = if self.random.one_in(6) {
                let mut around = inside.of_own();
                around.columns = inside.around.clone();
                self.number(&around, 1)
            } else {
                self.random.of(&inside.around.numbers).clone()
            };
            let (left, right) = if self.random.one_in(2) { (other, own) } else { (own, other) };
            terms.push(Pair::meets(operator, &left, &right));
        }
        if self.random.one_in(3) {
            let test = self.test(&inside, 1);
            terms.push(no_key(&test));
        }
        let filter = if terms.is_empty() {
            Pair::same("")
        } else {
            Pair::filled(" where {0}", " where {0}", &[&all_of(&terms)])
        };
        (inside, filter)
    }

    fn exists(&mut self, scope: &Scope) -> Pair {
        let (inside, filter) = self.inside(scope);
        let text = "exists (select {0} as x0 from {1}{2})";
        let shown = self.number(&inside, 0);
        Pair::filled(text, text, &[&shown, &inside.from, &filter])
    }

    /// `x in (select …)`, which null is if a row shows it.
    fn member(&mut self, scope: &Scope) -> Pair {
        let value = self.number(scope, 1);
        let (inside, filter) = self.inside(scope);
        let shown = self.number(&inside, 1).settled();
        let is_not = if self.random.one_in(3) { "not " } else { "" };
        let mut sql =
            "{0}exists (select 1 from (select {3} as y from {4}{5}) where y is {1}".to_owned();
        if let Some(present) = &value.present {
            sql.push_str(&format!(" and {present}"));
        }
        sql.push(')');
        let is_not = Pair::same(is_not);
        let ql = "{1} {0}in (select value {3} from {4}{5})";
        Pair::filled(ql, &sql, &[&is_not, &value, &value, &shown, &inside.from, &filter])
    }

    /// `(select …)`: a number of all rows inside, or of the first.
    fn one_number(&mut self, scope: &Scope) -> Pair {
        let (inside, filter) = self.inside(scope);
        if !self.random.one_in(2) {
            let shown = self.aggregated(&inside);
            let (ql, sql) = ("(select value {0} from {1}{2})", "(select {0} from {1}{2})");
            return Pair::filled(ql, sql, &[&shown, &inside.from, &filter]);
        }
        let shown = self.number(&inside, 1).settled();
        let (ql_order, sql_order) = self.direction();
        let bound = if self.random.one_in(3) { " offset 1" } else { "" };
        Pair::filled(
            &format!(
                "(select value {{0}} from {{1}}{{2}} order by {{0}}{ql_order} limit 1{bound})"
            ),
            &format!("(select {{0}} as y from {{1}}{{2}} order by y{sql_order} limit 1{bound})"),
            &[&shown, &inside.from, &filter],
        )
    }

    /// `[select …]`: its numbers in order, or some of them.
    pub(crate) fn list(&mut self, scope: &Scope) -> Pair {
        let (inside, filter) = self.inside(scope);
        let shown = self.value(&inside, 1).settled();
        let (ql_order, sql_order) = self.direction();
        let distinct = if self.random.one_in(3) { "distinct " } else { "" };
        let bound = *self.random.of(&["", " limit 2", " limit 2 offset 1"]);
        Pair::filled(
            &format!(
                "[select {distinct}value {{0}} from {{1}}{{2}} order by {{0}}{ql_order}{bound}]"
            ),
            &format!(
                "(select json_group_array(y) from (select {distinct}{{0}} as y from {{1}}{{2}} order by y{sql_order}{bound}))"
            ),
            &[&shown, &inside.from, &filter],
        )
    }

    /// A direction and a place of nulls, as both have them.
    pub(crate) fn direction(&mut self) -> (String, String) {
        let direction = *self.random.of(&["", " asc", " desc"]);
        let nulls = *self.random.of(&["", " nulls first", " nulls last"]);
        let there = if nulls.is_empty() { " nulls last" } else { nulls };
        (format!("{direction}{nulls}"), format!("{direction}{there}"))
    }
}

fn scope_of_nothing() -> Scope {
    let mut scope = super::sources::of_one();
    scope.columns = super::sources::Columns::default();
    scope
}
