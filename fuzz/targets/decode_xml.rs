//! Any bytes decode or are refused; what is not kept changes nothing about that. What is read as rows of
//! columns is what is decoded of them.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::{
    Text,
    codec::{
        DecodeLimits,
        xml::{ArrayPaths, Coerce, XmlOptions, decode, decode_rows},
    },
    projection::Projection,
};

const COLUMNS: [&str; 3] = ["c", "d", "x"];

fuzz_target!(|bytes: &[u8]| {
    let body = Bytes::copy_from_slice(bytes);
    let limits = DecodeLimits::default();
    for coerce in [Coerce::Safe, Coerce::Original, Coerce::None] {
        let options = XmlOptions { coerce, arrays: ArrayPaths::new(["a.b", "a"]) };
        let whole = decode(body.clone(), &Projection::All, &options, &limits);
        let outline = decode(body.clone(), &Projection::none(), &options, &limits);
        assert_eq!(whole.err(), outline.err());
        for steps in [&["a"][..], &["a", "b"]] {
            rows(&body, steps, &options, &limits);
        }
    }
});

fn rows(body: &Bytes, steps: &[&str], options: &XmlOptions, limits: &DecodeLimits) {
    let Ok(text) = Text::from_utf8(body.clone()) else { return };
    let names: Vec<_> = steps.iter().map(|step| Text::from(*step)).collect();
    let Some(cells) = decode_rows(&text, &names, &COLUMNS, options, limits) else { return };
    let mut projection = Projection::none();
    for column in COLUMNS {
        projection.add_members(&[steps, &[column]].concat());
    }
    let mut value = decode(body.clone(), &projection, options, limits).expect("it has rows");
    for (position, step) in steps.iter().enumerate() {
        value = value.member(step);
        if value.is_array() && position + 1 < steps.len() {
            value = value.element(0);
        }
    }
    let rows = value.elements().map_or_else(|| vec![value.clone()], |rows| rows.into_owned());
    assert_eq!(cells.len(), rows.len());
    for (row, value) in rows.iter().enumerate() {
        for (column, name) in COLUMNS.iter().enumerate() {
            let (cell, value) = (cells.value(row, column), value.member(name));
            assert!(cell == value && cell.is_absent() == value.is_absent());
        }
    }
}
