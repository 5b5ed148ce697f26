//! Random selects, joins and conditions.

use super::{Kind, Writer};

const ROW_PATHS: [&str; 9] = ["a", "b", "l", "l[0]", "l[*]", "o.a", "$..a", "'b'", "none"];

impl Writer<'_> {
    pub(super) fn columns(
        &mut self,
        prefix: impl Fn(usize) -> &'static str,
        is_join: bool,
    ) -> String {
        let count = 1 + self.tape.below(3);
        let has_aliases = self.tape.chance(40);
        let mut columns = Vec::new();
        for _ in 0..count {
            let path = if is_join {
                self.tape.one_of(&["a", "b", "l", "o.a", "none"])
            } else {
                self.tape.one_of(&ROW_PATHS)
            };
            let prefix = prefix(self.tape.below(2));
            let alias = if has_aliases {
                format!(" as {}", self.tape.one_of(&["a", "z", "m.n", "b"]))
            } else {
                String::new()
            };
            columns.push(format!("{prefix}{path}{alias}"));
        }
        columns.join(", ")
    }

    /// The right side of `=`.
    pub(super) fn operand(&mut self) -> String {
        let name = self.variable(&[]).unwrap_or_else(|| "nope".to_owned());
        match self.tape.below(9) {
            0 => self.tape.one_of(&["'1'", "'x'", "''", "'y'"]).to_owned(),
            1 => self.tape.one_of(&["1", "0", "1.5", "2"]).to_owned(),
            2 => self.tape.one_of(&["true", "false", "null"]).to_owned(),
            3 => format!("\"{{{name}}}\""),
            4 => format!("\"{{{name}.a}}\""),
            5 => name,
            6 => format!("{name}.a"),
            7 => "x".to_owned(),
            _ => format!("\"{{={name}}}\""),
        }
    }

    pub(super) fn condition(&mut self, prefix: &str) -> String {
        let path = if prefix.is_empty() {
            self.tape.one_of(&["a", "b", "l", "l[0]", "o.a", "$..a", "none"])
        } else {
            self.tape.one_of(&["a", "b", "l", "o.a"])
        };
        match self.tape.below(5) {
            0 | 1 => format!("{prefix}{path} = {}", self.operand()),
            2 => {
                let count = 1 + self.tape.below(3);
                let item = |_| match self.operand() {
                    // In a list a bareword is a plain name.
                    text if text.contains('.') && !text.contains(['"', '\'']) => "1".to_owned(),
                    text => text,
                };
                let items: Vec<_> = (0..count).map(item).collect();
                format!("{prefix}{path} in ({})", items.join(", "))
            }
            3 => match self.variable(&[Kind::Rows]) {
                Some(source) => {
                    let column = self.tape.one_of(&["a", "b", "l"]);
                    let filter = match self.tape.below(2) {
                        0 => String::new(),
                        _ => format!(" where b = {}", self.operand()),
                    };
                    format!("{prefix}{path} in (select {column} from {source}{filter})")
                }
                None => format!("{prefix}{path} = 1"),
            },
            _ => {
                let name = self.variable(&[Kind::List]).unwrap_or_else(|| "nope".to_owned());
                format!("{prefix}{path} in (\"{{{name}}}\", 2)")
            }
        }
    }

    pub(super) fn conditions(&mut self, prefix: &str) -> String {
        let count = self.tape.below(3);
        let conditions: Vec<_> = (0..count).map(|_| self.condition(prefix)).collect();
        if conditions.is_empty() {
            String::new()
        } else {
            format!(" where {}", conditions.join(" and "))
        }
    }

    pub(super) fn paging(&mut self) -> &'static str {
        self.tape.one_of(&["", "", "", " limit 2", " offset 1", " limit 1 offset 1", " limit 0"])
    }

    pub(super) fn select_local(&mut self) -> (String, Kind) {
        let Some(source) = self.variable(&[]) else { return (self.rows(), Kind::Rows) };
        let (columns, alias, prefix) = match self.tape.below(3) {
            0 => ("*".to_owned(), "", ""),
            1 => (self.columns(|_| "", false), "", ""),
            _ => (self.columns(|_| "s.", true), " as s", "s."),
        };
        let conditions = self.conditions(prefix);
        let paging = self.paging();
        (format!("select {columns} from {source}{alias}{conditions}{paging}"), Kind::Any)
    }

    pub(super) fn join(&mut self) -> (String, Kind) {
        let main = match self.tape.below(4) {
            3 => "t0".to_owned(),
            _ => self.variable(&[Kind::Rows, Kind::Object]).unwrap_or_else(|| "t0".to_owned()),
        };
        let columns = self.columns(|side| if side == 0 { "p." } else { "q." }, true);
        let joined = self.variable(&[Kind::Rows, Kind::Object]);
        let (joined, mut conditions) = match joined {
            Some(name) if self.tape.chance(75) => {
                let count = self.tape.below(3);
                let mut conditions = Vec::new();
                for _ in 0..count {
                    let paths = ["a", "b", "l", "o.a"];
                    let (left, right) = (self.tape.one_of(&paths), self.tape.one_of(&paths));
                    conditions.push(if self.tape.chance(50) {
                        format!("q.{right} = p.{left}")
                    } else {
                        format!("p.{left} = q.{right}")
                    });
                }
                (name, conditions)
            }
            _ => {
                let path = self.tape.one_of(&["a", "b", "l"]);
                let condition = match self.tape.below(2) {
                    0 => format!("q.k = p.{path}"),
                    _ => format!("p.{path} = q.k"),
                };
                ("t1".to_owned(), vec![condition])
            }
        };
        if conditions.is_empty() || (joined != "t1" && self.tape.chance(40)) {
            let prefix = if main == "t0" || self.tape.chance(50) { "q." } else { "p." };
            let prefix = if joined == "t1" { "p." } else { prefix };
            let condition = self.condition(prefix);
            conditions.push(condition);
        }
        let paging = self.paging();
        let conditions = conditions.join(" and ");
        let text =
            format!("select {columns} from {main} as p, {joined} as q where {conditions}{paging}");
        (text, Kind::Any)
    }

    pub(super) fn select_remote(&mut self) -> (String, Kind) {
        let columns = match self.tape.below(3) {
            0 => "*".to_owned(),
            1 => self.tape.one_of(&["a", "k", "a, k", "$..a, b"]).to_owned(),
            _ => "a as x, b as y".to_owned(),
        };
        let (table, conditions) = match self.tape.below(6) {
            0 => ("t0", String::new()),
            5 => ("t3", String::new()),
            choice => {
                let condition = match self.tape.below(5) {
                    0 => " where k = 'y'".to_owned(),
                    1 => {
                        let count = 1 + self.tape.below(4);
                        let values = ["'1'", "'y'", "2", "'x'", "true", "'0'", "1.5"];
                        let items: Vec<_> = (0..count).map(|_| self.tape.one_of(&values)).collect();
                        format!(" where k in ({})", items.join(", "))
                    }
                    2 => match self.variable(&[Kind::Scalar, Kind::List]) {
                        Some(name) => format!(" where k = \"{{{name}}}\""),
                        None => String::new(),
                    },
                    3 => match self.variable(&[Kind::Scalar, Kind::List]) {
                        Some(name) => format!(" where k = {name}"),
                        None => " where k = word".to_owned(),
                    },
                    _ => String::new(),
                };
                (if choice < 4 { "t1" } else { "t2" }, condition)
            }
        };
        let paging = if table == "t0" { self.paging() } else { "" };
        (format!("select {columns} from {table}{conditions}{paging}"), Kind::Any)
    }

    pub(super) fn prerequisite(&mut self) -> (String, Kind) {
        let Some(source) = self.variable(&[]) else { return ("null".to_owned(), Kind::Scalar) };
        let name = match self.tape.below(3) {
            0 => "nope".to_owned(),
            _ => self.variable(&[]).unwrap_or_default(),
        };
        let condition = match self.tape.below(3) {
            0 => format!("a = \"{{^{name}}}\""),
            1 => format!("a in (1, \"{{^{name}.a}}\")"),
            _ => format!("a in (select a from {source} where b = \"{{^{name}}}\")"),
        };
        (format!("select a from {source} where {condition}"), Kind::Any)
    }

    pub(super) fn delete_rows(&mut self) -> (String, Kind) {
        match self.variable(&[Kind::Rows]) {
            Some(source) => (format!("delete from {source}{}", self.conditions("")), Kind::Any),
            None => ("[]".to_owned(), Kind::List),
        }
    }
}
