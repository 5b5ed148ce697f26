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
