//! The names of the functions that expressions may call without binding them (FUN-1).
//!
//! What they do is in the crate of values, which knows no syntax; a test of the planner compares the two.

/// All names, in order.
pub const FUNCTION_NAMES: &[&str] = &[
    "abs",
    "array_concat",
    "array_contains",
    "array_distinct",
    "array_join",
    "array_max",
    "array_min",
    "array_position",
    "array_sort",
    "array_sum",
    "at_zone",
    "base64",
    "ceil",
    "coalesce",
    "concat",
    "contains",
    "date",
    "date_add",
    "date_diff",
    "date_trunc",
    "day",
    "div",
    "element_at",
    "ends_with",
    "entries",
    "epoch",
    "exp",
    "flatten",
    "floor",
    "format",
    "format_date",
    "format_number",
    "from_base64",
    "from_entries",
    "get",
    "greatest",
    "has",
    "hex",
    "hmac_sha256",
    "hour",
    "if",
    "initcap",
    "integer",
    "json",
    "keys",
    "least",
    "left",
    "length",
    "ln",
    "log10",
    "lower",
    "lpad",
    "ltrim",
    "md5",
    "merge",
    "minute",
    "mod",
    "month",
    "now",
    "nullif",
    "number",
    "parse_date",
    "parse_json",
    "position",
    "power",
    "range",
    "regexp_extract",
    "regexp_extract_all",
    "regexp_matches",
    "regexp_replace",
    "regexp_split",
    "repeat",
    "replace",
    "reverse",
    "right",
    "round",
    "rpad",
    "rtrim",
    "second",
    "sha256",
    "sign",
    "slice",
    "split",
    "sqrt",
    "starts_with",
    "substring",
    "time",
    "timestamp",
    "today",
    "trim",
    "trunc",
    "try",
    "typeof",
    "upper",
    "url_decode",
    "url_encode",
    "url_part",
    "uuid",
    "values",
    "week",
    "weekday",
    "without",
    "year",
    "zip",
];

/// The names of aggregates, which give one value of all rows of a group (GRP-5), in order.
pub const AGGREGATE_NAMES: &[&str] = &[
    "any_value",
    "array_agg",
    "avg",
    "bool_and",
    "bool_or",
    "count",
    "first",
    "last",
    "max",
    "median",
    "min",
    "object_agg",
    "stddev",
    "string_agg",
    "sum",
    "variance",
];

/// What functions of databases are called here, by the names that they have there, in order.
const ELSEWHERE: &[(&str, &str)] = &[
    ("array_length", "`length(x)`"),
    ("array_to_string", "`array_join(x, ', ')`"),
    ("cardinality", "`length(x)`"),
    ("ceiling", "`ceil(x)`"),
    ("char_length", "`length(x)`"),
    ("charindex", "`position(part, x)`"),
    ("collect_list", "`array_agg(x)`"),
    ("concat_ws", "`array_join([a, b], ', ')`"),
    ("current_timestamp", "`now()`"),
    ("date_format", "`format_date(x, '%Y-%m-%d')`"),
    ("date_part", "`year(x)`, `month(x)`, `day(x)`"),
    ("dateadd", "`date_add(x, 'P1D')`"),
    ("datediff", "`date_diff('day', a, b)`"),
    ("dense_rank", WINDOWS),
    ("getdate", "`now()`"),
    ("group_concat", "`string_agg(x, ', ')`"),
    ("ifnull", "`coalesce(a, b)`"),
    ("iif", "`if(a, b, c)`"),
    ("instr", "`position(part, x)`"),
    ("isnull", "`coalesce(a, b)`, or the test `a is null`"),
    ("json_agg", "`array_agg(x)`"),
    ("json_array_length", "`length(x)`"),
    ("json_extract", "a path, `a.b`, or `get(a, 'b')`"),
    ("json_object_agg", "`object_agg(k, v)`"),
    ("json_value", "a path, `a.b`, or `get(a, 'b')`"),
    ("lag", WINDOWS),
    ("lead", WINDOWS),
    ("len", "`length(x)`"),
    ("listagg", "`string_agg(x, ', ')`"),
    ("log", "`ln(x)`, or `log10(x)`"),
    ("mean", "`avg(x)`"),
    ("nvl", "`coalesce(a, b)`"),
    ("pow", "`power(a, b)`"),
    ("rank", WINDOWS),
    ("regexp_like", "the test `a matches 'b'`"),
    ("row_number", WINDOWS),
    ("strftime", "`format_date(x, '%Y-%m-%d')`"),
    ("strpos", "`position(part, x)`"),
    ("substr", "`substring(x, 1, 2)`"),
    ("to_char", "`format_date(x, '%Y-%m-%d')`, or `format_number(x, 2)`"),
    ("to_date", "`parse_date(x, '%d.%m.%Y')`"),
    ("to_number", "`number(x)`"),
    ("truncate", "`trunc(x)`"),
    ("ucase", "`upper(x)`"),
];

const WINDOWS: &str =
    "`array_agg(x order by y limit 3)`, the first rows of each group; there are no windows";

/// What to write for a function that databases have under this name.
pub(crate) fn written_for(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let at = ELSEWHERE.binary_search_by(|(known, _)| (*known).cmp(&name)).ok()?;
    Some(ELSEWHERE[at].1)
}

/// A name that expressions may call without binding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    /// One of [`FUNCTION_NAMES`].
    Function(&'static str),
    /// One of [`AGGREGATE_NAMES`].
    Aggregate(&'static str),
}

impl BuiltIn {
    /// What a word names.
    pub(crate) fn find(word: &str) -> Option<Self> {
        let of = |names: &[&'static str]| names.binary_search(&word).ok().map(|at| names[at]);
        of(FUNCTION_NAMES).map(Self::Function).or_else(|| of(AGGREGATE_NAMES).map(Self::Aggregate))
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Function(name) | Self::Aggregate(name) => name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_elsewhere_are_in_order_and_none_of_ours() {
        assert!(ELSEWHERE.is_sorted_by(|one, other| one.0 < other.0));
        for (name, hint) in ELSEWHERE {
            assert_eq!(BuiltIn::find(name), None, "{name}");
            assert_eq!(written_for(&name.to_ascii_uppercase()), Some(*hint));
            let calls = hint.split('`').skip(1).step_by(2).filter_map(|text| text.split_once('('));
            for (called, _) in calls {
                assert!(BuiltIn::find(called).is_some(), "{name}: {called}");
            }
        }
    }
}
