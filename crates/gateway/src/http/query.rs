//! The query string of a request as an object of texts, arrays and objects.
//!
//! In: what stands after `?` in the raw request target. Out: an [`Object`]; a repeated name is an
//! array, brackets build arrays and objects (SRV-19). Malformed percent-encoding is an
//! error and becomes a 400. Nothing is trimmed, coerced or filtered.

use qlio_data::{
    Object,
    codec::form::{self, FormError, FormLimits},
};

/// The most pairs of a query string, and the deepest brackets.
pub(crate) const QUERY_LIMITS: FormLimits = FormLimits { pairs_max: 1000, depth_max: 8 };

/// Parses a query string; none at all is an object without members.
pub(crate) fn parse(query: Option<&str>) -> Result<Object, FormError> {
    form::parse_within(query.unwrap_or_default(), &QUERY_LIMITS)
}

/// The first text under a name: parameters such as `callback` and `format` are used that way.
pub(crate) fn text<'q>(query: &'q Object, name: &str) -> Option<&'q str> {
    match query.get(name)? {
        qlio_data::Value::Array(values) => values.first()?.as_str(),
        value => value.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qlio_data::{Value, codec::json};

    use super::*;

    fn check(query: &str, expected: &str) {
        let object = parse(Some(query)).expect("well encoded");
        assert_eq!(json::to_string(&Value::object(object)), expected, "{query}");
    }

    #[test]
    fn repeated_names_and_brackets_build_structures() {
        check("a=1&a=2&s=", r#"{"a":["1","2"],"s":""}"#);
        check("b[]=1&c[k]=x+y", r#"{"b":["1"],"c":{"k":"x y"}}"#);
        check("flag&&e=%C3%A9", r#"{"flag":"","e":"é"}"#);
        assert!(parse(None).expect("nothing").is_empty());
    }

    #[test]
    fn malformed_encoding_and_too_many_pairs_are_errors() {
        assert!(parse(Some("a=%G1")).is_err());
        assert!(parse(Some("a=%FF")).is_err());
        assert!(parse(Some(&"a&".repeat(QUERY_LIMITS.pairs_max))).is_ok());
        assert!(parse(Some(&"a&".repeat(QUERY_LIMITS.pairs_max + 1))).is_err());
    }

    #[test]
    fn the_first_text_of_a_repeated_parameter_counts() {
        let query = parse(Some("callback=a&callback=b&format[x]=json")).expect("well encoded");
        assert_eq!(text(&query, "callback"), Some("a"));
        assert_eq!(text(&query, "format"), None);
        assert_eq!(text(&query, "none"), None);
    }

    proptest! {
        #[test]
        fn any_query_is_parsed_without_panic(query in "[a-c=&%0-9\\[\\]+é]{0,60}") {
            if let Err(error) = parse(Some(&query)) {
                prop_assert!(error.offset <= query.len());
            }
        }
    }
}
