//! Chance, and tables made by it.

/// A generator that gives the same for the same seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// A number below another.
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % count
    }

    pub(crate) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[usize::try_from(self.below(choices.len() as u64)).expect("small")]
    }
}

/// The same tables for both.
pub(crate) struct Tables {
    pub(crate) ql: String,
    pub(crate) sql: String,
}

/// `t (id, a, b, c)` and `u (k, v, w)`: few values and many nulls.
pub(crate) fn tables(random: &mut Random) -> Tables {
    let mut tables = Tables {
        ql: String::new(),
        sql: "pragma case_sensitive_like = on; create table t (id, a, b, c); create table u (k, v, w);"
            .to_owned(),
    };
    for (table, columns) in [("t", ["id", "a", "b", "c"].as_slice()), ("u", &["k", "v", "w"])] {
        let mut rows = Vec::new();
        let count = if random.one_in(12) { 0 } else { 1 + random.below(9) };
        for number in 0..count {
            let cells: Vec<_> = columns.iter().map(|column| cell(random, column, number)).collect();
            let members: Vec<_> = columns
                .iter()
                .zip(&cells)
                .map(|(name, cell)| format!("\"{name}\": {cell}"))
                .collect();
            rows.push(format!("{{{}}}", members.join(", ")));
            let values = cells.join(", ").replace('"', "'");
            tables.sql.push_str(&format!("insert into {table} values ({values});"));
        }
        tables.ql.push_str(&format!("{table} = [{}]\n", rows.join(", ")));
    }
    tables
}

fn cell(random: &mut Random, column: &str, number: u64) -> String {
    match column {
        "id" => number.to_string(),
        _ if random.one_in(3) => "null".to_owned(),
        "b" | "w" => format!("\"{}\"", random.of(&["a", "b", "ab", "B", "", "a b"])),
        "c" => random.of(&["0", "1", "1.0", "-2.5", "0.5", "3", "10"]).to_owned(),
        _ => random.below(4).to_string(),
    }
}
