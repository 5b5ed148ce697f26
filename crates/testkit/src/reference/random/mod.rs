//! Random valid scripts: definitions, selects, joins, writes, fallbacks, prerequisites and blocks
//! over variables and over four tables: `t0` has a few rows with members `a`, `b`, `l`, `k`; `t1`
//! takes an optional `k`, `t2` a required one; `t3` always fails; `nosuch` is not there.
//!
//! In go bytes, each one a choice: a shorter list of smaller bytes makes a simpler script, so that a
//! failing one shrinks by itself.
//!
//! A statement names only variables that were made before it, so that no script has a cycle; the
//! order of text is then mixed. What the language leaves to chance is left out: a variable that is
//! written is read by `return` alone.

mod select;
mod tape;

use tape::Tape;

/// The kind of value that a variable holds, unless its branch was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Scalar,
    List,
    Rows,
    Object,
    Any,
}

const SCALARS: [&str; 10] =
    ["1", "\"x\"", "0", "\"1\"", "true", "\"\"", "2", "1.5", "null", "false"];
const STATEMENTS_MAX: usize = 12;

/// A script made of choices.
pub fn script(bytes: &[u8]) -> String {
    let mut tape = Tape::new(bytes);
    let returns_all = tape.chance(50);
    let mut writer = Writer {
        tape,
        variables: Vec::new(),
        written: Vec::new(),
        results: Vec::new(),
        count: 0,
        throws: 0,
        statements: 0,
        returns_all,
    };
    let mut items = Vec::new();
    while items.is_empty() || (!writer.tape.is_at_end() && writer.statements < STATEMENTS_MAX) {
        let item = writer.item(0);
        items.push(item);
    }
    for position in 1..items.len() {
        if writer.tape.chance(30) {
            let other = writer.tape.below(position);
            items.swap(position, other);
        }
    }
    let result = writer.result();
    items.push(result);
    items.join("\n")
}

struct Writer<'t> {
    tape: Tape<'t>,
    variables: Vec<(String, Kind)>,
    /// Variables that inserts and deletes write to.
    written: Vec<(String, Kind)>,
    /// Targets of writes.
    results: Vec<String>,
    count: usize,
    throws: usize,
    statements: usize,
    returns_all: bool,
}

impl Writer<'_> {
    fn new_name(&mut self) -> String {
        self.count += 1;
        format!("v{}", self.count)
    }

    /// A variable of one of these kinds; of any if none is given.
    fn variable(&mut self, kinds: &[Kind]) -> Option<String> {
        let fitting: Vec<_> = self
            .variables
            .iter()
            .filter(|(_, kind)| kinds.is_empty() || kinds.contains(kind))
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let position = self.tape.below(fitting.len());
        Some(fitting[fitting.len() - 1 - position].0.clone())
    }

    fn item(&mut self, depth: usize) -> String {
        self.statements += 1;
        match self.tape.below(12) {
            9 if depth < 2 => self.if_block(depth, &[]),
            10 if depth < 2 => self.try_block(depth),
            11 if depth == 0 || self.returns_all => self.write(depth),
            _ => self.assignment(),
        }
    }

    fn assignment(&mut self) -> String {
        let name = self.new_name();
        let (text, kind) = self.chain();
        // A variable alone is no statement.
        if !text.starts_with('v') && self.tape.chance(8) {
            return text;
        }
        self.variables.push((name.clone(), kind));
        format!("{name} = {text}")
    }

    fn chain(&mut self) -> (String, Kind) {
        let (mut text, mut kind) = self.primary();
        let is_risky = text.contains("from nosuch") || text.contains("from t");
        let mut percent = if is_risky { 75 } else { 15 };
        while self.tape.chance(percent) {
            let (next, _) = self.primary();
            text = format!("{text} || {next}");
            kind = Kind::Any;
            percent = 30;
        }
        (text, kind)
    }

    fn primary(&mut self) -> (String, Kind) {
        match self.tape.below(14) {
            0 => (self.tape.one_of(&SCALARS).to_owned(), Kind::Scalar),
            1 => (self.list(), Kind::List),
            2 | 3 => (self.rows(), Kind::Rows),
            4 => self.object(),
            5 => (self.text(), Kind::Any),
            6 | 7 => self.select_local(),
            8 => self.join(),
            9 | 10 => self.select_remote(),
            11 => self.prerequisite(),
            12 => self.delete_rows(),
            _ => match self.tape.below(3) {
                0 => ("select * from nosuch".to_owned(), Kind::Any),
                _ => match self.variable(&[]) {
                    Some(name) => (name, Kind::Any),
                    None => ("null".to_owned(), Kind::Scalar),
                },
            },
        }
    }

    fn list(&mut self) -> String {
        let count = self.tape.below(4);
        let scalar = |_| self.tape.one_of(&["1", "\"x\"", "\"1\"", "2", "true", "1.5"]);
        format!("[{}]", (0..count).map(scalar).collect::<Vec<_>>().join(", "))
    }

    fn row(&mut self) -> String {
        let mut members = Vec::new();
        for name in ["a", "b"] {
            if !self.tape.chance(15) {
                members.push(format!("\"{name}\": {}", self.tape.one_of(&SCALARS)));
            }
        }
        if self.tape.chance(40) {
            members.push(format!("\"l\": {}", self.list()));
        }
        if self.tape.chance(25) {
            members.push(format!("\"o\": {{\"a\": {}}}", self.tape.one_of(&SCALARS)));
        }
        format!("{{{}}}", members.join(", "))
    }

    fn rows(&mut self) -> String {
        let count = self.tape.below(5);
        let rows: Vec<_> = (0..count).map(|_| self.row()).collect();
        format!("[{}]", rows.join(", "))
    }

    fn object(&mut self) -> (String, Kind) {
        if self.tape.chance(50) {
            return (self.row(), Kind::Object);
        }
        let (first, second) = (self.text(), self.text());
        (format!("{{\"a\": {first}, \"b\": [{second}, 1]}}"), Kind::Object)
    }

    /// A JSON string with tokens.
    fn text(&mut self) -> String {
        let name = self.variable(&[]).unwrap_or_else(|| "nope".to_owned());
        match self.tape.below(7) {
            0 => format!("\"{{{name}}}\""),
            1 => format!("\"{{{name}.a}}\""),
            2 => format!("\"{{={name}}}\""),
            3 => format!("\"{{{name}[0]}}\""),
            4 => format!("\"so {{{name}}}!\""),
            5 => format!("\"{{{name}}}-{{nope}}\""),
            _ => format!("\"{{{name}.l[*]}}\""),
        }
    }

    fn write(&mut self, depth: usize) -> String {
        let position = self.tape.below(self.written.len() + 1);
        let Some((name, kind)) = self.written.get(position).cloned() else {
            let name = format!("o{}", self.written.len());
            let is_rows = self.tape.chance(40);
            let kind = if is_rows { Kind::Rows } else { Kind::Object };
            let value = if is_rows { self.rows() } else { self.row() };
            // Bound at the top level only: inside a block it would be null in other branches.
            if depth == 0 {
                self.written.push((name.clone(), kind));
                return format!("{name} = {value}");
            }
            return self.assignment();
        };
        let text = match self.tape.below(4) {
            0 => format!("insert into {name} (a, z) values ({}, 'n')", self.insert_value()),
            1 => format!("insert into {name} (b) values ({})", self.insert_value()),
            2 => match self.variable(&[Kind::Object]) {
                Some(object) => format!("insert \"{{{object}}}\" into {name}"),
                None => format!("insert into {name} (a) values (7)"),
            },
            _ if kind == Kind::Object => format!("delete from {name} where a = 1 and z = 'n'"),
            _ => format!("delete from {name} where a = 1"),
        };
        if depth == 0 && self.tape.chance(50) {
            return text;
        }
        let result = format!("n{}", self.results.len());
        self.results.push(result.clone());
        format!("{result} = {text}")
    }

    fn insert_value(&mut self) -> String {
        match self.operand() {
            text if text.contains('.') && !text.contains(['"', '\'']) => "1.5".to_owned(),
            text => text,
        }
    }

    fn logic(&mut self, thrown: &[String], depth: usize) -> String {
        let name = |writer: &mut Self| match writer.tape.below(thrown.len() + 3) {
            0 => writer.variable(&[]).unwrap_or_else(|| "nope".to_owned()),
            1 => writer.variable(&[]).map_or("nope".to_owned(), |name| format!("{name}.a")),
            2 => "nope".to_owned(),
            thrown_name => thrown[thrown_name - 3].clone(),
        };
        match self.tape.below(if depth > 2 { 3 } else { 7 }) {
            0..=2 => name(self),
            3 => format!("!{}", name(self)),
            4 => format!("{} || {}", self.logic(thrown, depth + 1), self.logic(thrown, depth + 1)),
            5 => format!("{} && {}", self.logic(thrown, depth + 1), self.logic(thrown, depth + 1)),
            _ => format!("!({})", self.logic(thrown, depth + 1)),
        }
    }

    fn body(&mut self, depth: usize, count_max: usize) -> Vec<String> {
        let count = 1 + self.tape.below(count_max);
        (0..count).map(|_| self.item(depth + 1)).collect()
    }

    fn if_block(&mut self, depth: usize, throws: &[String]) -> String {
        let condition = self.logic(&[], 0);
        let mut then = self.body(depth, 2);
        then.extend(throws.iter().map(|name| format!("throw ({name})")));
        let mut text = format!("if ({condition}) {{\n{}\n}}", then.join("\n"));
        if self.tape.chance(60) {
            let otherwise = self.body(depth, 2);
            text = format!("{text} else {{\n{}\n}}", otherwise.join("\n"));
        }
        text
    }

    fn try_block(&mut self, depth: usize) -> String {
        self.throws += 1;
        let first = format!("e{}", self.throws);
        let mut thrown = vec![first.clone()];
        let mut body = self.body(depth, 2);
        body.push(match self.tape.below(2) {
            0 => format!("throw ({first})"),
            _ => self.if_block(depth + 1, &[first]),
        });
        if let Some(name) = self.variable(&[])
            && self.tape.chance(30)
        {
            body.insert(0, format!("throw ({name})"));
            thrown.push(name);
        }
        let mut text = format!("try {{\n{}\n}}", body.join("\n"));
        let catches = 1 + self.tape.below(2);
        for _ in 0..catches {
            let condition = self.catch_condition(&thrown);
            let body = self.body(depth, 2);
            text = format!("{text} catch ({condition}) {{\n{}\n}}", body.join("\n"));
        }
        if self.tape.chance(40) {
            let body = self.body(depth, 2);
            text = format!("{text} finally {{\n{}\n}}", body.join("\n"));
        }
        text
    }

    /// Only names that the body throws may stand in it.
    fn catch_condition(&mut self, thrown: &[String]) -> String {
        let first = thrown[self.tape.below(thrown.len())].clone();
        let second = thrown[self.tape.below(thrown.len())].clone();
        match self.tape.below(4) {
            0 | 1 => first,
            2 => format!("{first} || !{second}"),
            _ => format!("!{first}"),
        }
    }

    fn result(&mut self) -> String {
        let mut names: Vec<String> =
            self.written.iter().map(|(name, _)| name.clone()).chain(self.results.clone()).collect();
        names.extend(self.variables.iter().map(|(name, _)| name.clone()));
        let member = |name: &String| format!("\"{name}\": \"{{={name}}}\"");
        if self.returns_all {
            let members: Vec<_> = names.iter().map(member).collect();
            return format!("return {{{}}}", members.join(", "));
        }
        match self.tape.below(5) {
            0 => String::new(),
            1 => {
                names.retain(|_| self.tape.chance(50));
                let members: Vec<_> = names.iter().map(member).collect();
                format!("return {{{}}}", members.join(", "))
            }
            _ => {
                let count = 1 + self.tape.below(3);
                let alternatives: Vec<_> = (0..count)
                    .map(|_| match self.tape.below(3) {
                        0 => self.text(),
                        _ => self.variable(&[]).unwrap_or_else(|| "7".to_owned()),
                    })
                    .collect();
                format!("return {}", alternatives.join(" || "))
            }
        }
    }
}
