//! The figures that were published about the original between 2012 and 2016, to stand beside new ones
//! (`--seeds`). Other machines, other programs: the proportions can be compared, not the figures.

use std::fmt::Write as _;

use crate::report::{Cell, Report, Table};

/// Adds the published tables that belong to the command of a report.
pub fn add(report: &mut Report) {
    let tables = match report.command {
        "load" => vec![load()],
        "workers" => vec![workers()],
        "matrix" => vec![matrix("12 workers", &TWELVE), matrix("96 workers", &NINETY_SIX)],
        "codecs" => vec![codecs()],
        "ops" => vec![ops()],
        "go" => vec![go()],
        _ => Vec::new(),
    };
    for table in tables {
        // Writing to a string cannot fail.
        let _ = write!(report.text, "\nPublished, {}:\n{}", table.title, table.to_text());
        report.tables.push(table);
    }
}

fn table(title: &str, columns: &[&str], rows: &[&[&str]]) -> Table {
    let mut table = Table::new("published", title, columns);
    table.rows = rows.iter().map(|row| row.iter().map(|cell| cell_of(cell)).collect()).collect();
    table
}

/// A figure if it is one.
fn cell_of(text: &str) -> Cell {
    let plain = text.replace(',', "");
    match plain.parse::<f64>() {
        Ok(number) => Cell::Number(number, plain.split_once('.').map_or(0, |(_, rest)| rest.len())),
        Err(_) => text.into(),
    }
}

fn load() -> Table {
    table(
        "200 users for an hour, upstream in XML and Protocol Buffers",
        &["figure", "XML", "Protobuf", "unit"],
        &[
            &["samples", "734,339", "772,200", ""],
            &["average", "72", "24", "ms"],
            &["minimum", "25", "8", "ms"],
            &["maximum", "1,002", "198", "ms"],
            &["deviation", "49", "26", "ms"],
            &["errors", "0.00", "0.00", "%"],
            &["rate", "203.43", "213.91", "trans/s"],
            &["throughput", "12,248", "12,388", "KB/s"],
            &["upstream payload", "84,387", "27,497", "bytes"],
        ],
    )
}

fn workers() -> Table {
    table(
        "scenario D, 100 concurrent, worker processes",
        &["workers", "req/s", "mean ms", "p80 ms"],
        &[
            &["12", "192.53", "519.390", "763"],
            &["24", "304.75", "328.133", "462"],
            &["36", "340.81", "293.418", "411"],
            &["48", "360.71", "277.233", "386"],
            &["60", "371.30", "269.323", "365"],
            &["72", "376.99", "265.262", "376"],
            &["84", "382.00", "261.781", "369"],
            &["96", "384.50", "260.079", "365"],
        ],
    )
}

type Row = [&'static str; 5];

const TWELVE: [Row; 5] = [
    [
        "100",
        "2032.98 | 49.189 | 68",
        "2110.30 | 47.387 | 66",
        "863.70 | 115.781 | 145",
        "192.53 | 519.390 | 763",
    ],
    [
        "200",
        "2058.63 | 97.152 | 131",
        "2040.43 | 98.019 | 137",
        "861.93 | 232.037 | 176",
        "214.88 | 930.740 | 527",
    ],
    [
        "300",
        "2033.17 | 147.553 | 220",
        "2051.27 | 146.251 | 247",
        "853.48 | 351.502 | 394",
        "208.33 | 1439.998 | 1252",
    ],
    [
        "400",
        "1992.10 | 200.793 | 239",
        "2021.16 | 197.907 | 294",
        "852.97 | 468.950 | 561",
        "194.56 | 2055.940 | 4286",
    ],
    [
        "500",
        "2003.66 | 249.543 | 406",
        "1992.81 | 250.902 | 361",
        "841.53 | 594.156 | 1071",
        "192.17 | 2601.874 | 6445",
    ],
];

const NINETY_SIX: [Row; 5] = [
    [
        "100",
        "2419.28 | 41.335 | 66",
        "2386.20 | 41.908 | 69",
        "982.55 | 101.776 | 145",
        "382.01 | 261.773 | 368",
    ],
    [
        "200",
        "2481.33 | 80.602 | 125",
        "2445.59 | 81.780 | 128",
        "997.00 | 200.601 | 281",
        "355.50 | 562.584 | 797",
    ],
    [
        "300",
        "2523.78 | 118.869 | 175",
        "2464.19 | 121.744 | 174",
        "997.08 | 300.880 | 412",
        "324.73 | 923.852 | 1286",
    ],
    [
        "400",
        "2526.13 | 158.345 | 228",
        "2477.98 | 161.422 | 231",
        "994.35 | 402.272 | 551",
        "297.66 | 1343.793 | 1892",
    ],
    [
        "500",
        "2522.16 | 198.243 | 278",
        "2502.91 | 199.767 | 274",
        "906.30 | 551.692 | 699",
        "282.14 | 1772.200 | 2300",
    ],
];

fn matrix(title: &str, rows: &[Row]) -> Table {
    let rows: Vec<&[&str]> = rows.iter().map(<[&str; 5]>::as_slice).collect();
    let mut table = table(title, &["c", "A", "B", "C", "D"], &rows);
    table.name = format!("published-{}", title.split(' ').next().unwrap_or_default());
    table
}

fn codecs() -> Table {
    table(
        "10,000 header messages in Python 2",
        &["codec", "serialize s", "deserialize s", "us/msg ser", "us/msg deser", "bytes/msg"],
        &[
            &["length-prefixed struct", "0.125000", "0.156000", "12.5", "15.6", "63"],
            &["protobuf", "0.453000", "0.453000", "45.3", "45.3", "61 (+4)"],
            &["HTTP header text", "0.047000", "0.125000", "4.7", "12.5", "96"],
        ],
    )
}

fn ops() -> Table {
    table(
        "hotels, benchmark.js in Node",
        &["test", "ops/s", "±%", "runs"],
        &[
            &["endpoint, protobuf", "4.52", "5.44", "26"],
            &["endpoint, JSON", "4.49", "4.59", "26"],
            &["deserialise JSON", "1,771", "8.68", "37"],
            &["deserialise protobuf, library 1", "271", "2.18", "43"],
            &["deserialise protobuf, library 2", "1,824", "2.75", "41"],
        ],
    )
}

fn go() -> Table {
    table(
        "hotels, Go on 4 threads",
        &["benchmark", "N", "ns/op"],
        &[
            &["JSON end to end (.NET)", "200", "12,097,761"],
            &["protobuf end to end (.NET)", "1,000", "2,029,807"],
            &["JSON endpoint only", "200", "6,375,379"],
            &["protobuf endpoint only", "1,000", "1,680,085"],
            &["JSON processing only", "1,000", "2,187,234"],
            &["msgpack processing only", "5,000", "279,339"],
            &["protobuf processing only", "5,000", "365,211"],
            &["JSON endpoint (Node server)", "1,000", "2,086,541"],
            &["protobuf endpoint (Node server)", "2,000", "603,525"],
            &["msgpack end to end (earlier .NET build)", "500", "3,723,422"],
            &["msgpack endpoint only (map mode)", "100", "10,303,550"],
            &["msgpack endpoint, array mode", "1,000", "1,452,170"],
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_its_published_figures() {
        for command in ["load", "workers", "matrix", "codecs", "ops", "go"] {
            let mut report = Report::new(command, "t");
            add(&mut report);
            assert!(!report.tables.is_empty(), "{command}");
            for table in &report.tables {
                assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{command}");
            }
        }
    }

    #[test]
    fn published_figures_agree_with_each_other() {
        // 200 users, an hour and ten seconds of ramp, 900 ms of think time.
        for (samples, average, rate) in [(734_339.0, 72.0, 203.43), (772_200.0, 24.0, 213.91_f64)] {
            assert!((samples / rate - 3_610.0_f64).abs() < 1.0);
            assert!((200.0 / rate * 1000.0 - average - 911.0_f64).abs() < 1.0);
        }
    }
}
