//! Filling `{config.x.y}` when a table is declared (`connectors.md` 1.7).

use qlio_data::{Value, uri_template::UriTemplate};

/// Replaces each `{config.…}` token that names a scalar by its raw text; empty text and structures
/// count as not found and stay as they are.
pub fn fill_settings(text: &str, config: &Value) -> String {
    UriTemplate::substitute_config(text, &|path| {
        let mut value = config.clone();
        for step in path.split('.') {
            value = value.member(step);
        }
        value.scalar_text().filter(|text| !text.is_empty()).map(|text| text.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_filled_and_structures_stay() {
        let config =
            qlio_data::codec::json::parse_str(r#"{"dock": {"host": "h.test", "n": 4, "l": []}}"#)
                .unwrap();
        let filled = |text| fill_settings(text, &config);
        assert_eq!(
            filled("http://{config.dock.host}/{config.dock.n}?k={k}"),
            "http://h.test/4?k={k}"
        );
        assert_eq!(filled("{config.dock.l}{config.nope}"), "{config.dock.l}{config.nope}");
    }
}
