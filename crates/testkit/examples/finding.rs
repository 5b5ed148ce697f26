//! Writes the canned answers of `examples/finding`: `cargo run -p qlio-testkit --example finding`.

use std::fs;
use std::path::Path;

use qlio_testkit::finding::{Answers, answers};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let app = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/finding");
    let schema = fs::read_to_string(app.join("tables/finding/search.proto"))?;
    let Answers { xml, protobuf, json } = answers(&schema)?;
    let files: [(&str, &[u8]); 3] = [
        ("find.xml", xml.as_bytes()),
        ("find.protobuf", &protobuf),
        ("find.json", json.as_bytes()),
    ];
    for (name, body) in files {
        fs::write(app.join("apis").join(name), body)?;
    }
    Ok(())
}
