//! Rows that are read as places in their text: whatever is taken that way the decoder takes too, what is
//! written of the places is what is written of the decoded values, and it makes no difference whether they
//! are read in pieces. The first byte of the input says where it is cut.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use qlio_data::{
    Object, Text, Value,
    codec::{
        DecodeLimits,
        json::{self, CellTable, RowForm, RowReader, RowWriter},
    },
    projection::Projection,
};

const COLUMNS: [&str; 2] = ["a", "b"];
/// Where the rows stand: at the top, and below a member.
const STEPS: [&[&str]; 2] = [&[], &["r"]];

fuzz_target!(|input: &[u8]| {
    let Some((choice, bytes)) = input.split_first() else { return };
    for steps in STEPS {
        compare(bytes, steps, usize::from(*choice));
    }
});

fn compare(bytes: &[u8], steps: &[&str], choice: usize) {
    let (body, limits) = (Bytes::copy_from_slice(bytes), DecodeLimits::default());
    let texts: Vec<Text> = steps.iter().map(|step| Text::from(*step)).collect();
    let mut reader = RowReader::new(&texts, &COLUMNS, &limits).with_pieces_of(choice % 4);
    for end in (0..bytes.len()).step_by(choice / 4 + 1) {
        reader.read(&bytes[..end]);
    }
    let in_pieces = reader.finish(body.clone());
    let whole = CellTable::decode(body.clone(), &texts, &COLUMNS, &limits);
    assert_eq!(in_pieces.as_ref().map(shown), whole.as_ref().map(shown));
    let Some(cells) = whole else { return };
    let mut projection = Projection::none();
    for column in COLUMNS {
        projection.add_members(&[steps, &[column]].concat());
    }
    let mut value =
        json::decode(body, &projection, &limits).expect("what is taken as rows decodes");
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

fn shown(cells: &CellTable) -> Vec<String> {
    let row = |row| COLUMNS.iter().enumerate().map(move |(column, _)| (row, column));
    let places = (0..cells.len()).flat_map(row);
    places.map(|(row, column)| format!("{:?}", cells.value(row, column))).collect()
}
