//! Rows that are read as places in their text: whatever is taken that way the decoder takes too, and
//! what is written of the places is what is written of the decoded values.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::{
    Object, Text, Value,
    codec::{
        DecodeLimits,
        json::{self, CellTable, RowForm, RowWriter},
    },
    projection::Projection,
};

const COLUMNS: [&str; 2] = ["a", "b"];
/// Where the rows stand: at the top, and below a member.
const STEPS: [&[&str]; 2] = [&[], &["r"]];

fuzz_target!(|bytes: &[u8]| {
    for steps in STEPS {
        compare(bytes, steps);
    }
});

fn compare(bytes: &[u8], steps: &[&str]) {
    let (body, limits) = (Bytes::copy_from_slice(bytes), DecodeLimits::default());
    let texts: Vec<Text> = steps.iter().map(|step| Text::from(*step)).collect();
    let Some(cells) = CellTable::decode(body.clone(), &texts, &COLUMNS, &limits) else { return };
    let mut projection = Projection::none();
    for column in COLUMNS {
        projection.add_members(&[steps, &[column]].concat());
    }
    let mut value = json::decode(body, &projection, &limits).expect("what is taken as rows decodes");
    for step in steps {
        value = value.member(step);
    }
    let rows = match value.elements() {
        Some(elements) => elements.into_owned(),
        None => vec![value],
    };
    assert_eq!(cells.len(), rows.len());
    let written: Value = rows
        .iter()
        .map(|row| {
            let members = COLUMNS.iter().map(|column| (*column, row.member(column)));
            Value::object(members.filter(|(_, value)| !value.is_absent()).collect::<Object>())
        })
        .collect();
    let mut writer = RowWriter::new(RowForm::Object(&COLUMNS), COLUMNS.len());
    for row in 0..cells.len() {
        writer.push(|position| (&cells, row, position));
    }
    assert_eq!(json::to_string(&writer.finish()), json::to_string(&written));
}
