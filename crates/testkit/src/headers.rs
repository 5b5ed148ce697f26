//! Headers as they came over the wire.

/// The value of a header, whatever the case of its name; repeated ones joined by commas (RFC 9110,
/// 5.3).
pub(crate) fn joined_header(headers: &[(String, String)], name: &str) -> Option<String> {
    let values: Vec<&str> = headers
        .iter()
        .filter(|(other, _)| other.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
        .collect();
    (!values.is_empty()).then(|| values.join(", "))
}
