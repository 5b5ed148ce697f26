//! `qlio bench codecs`: the same messages in every format, written and read.

use std::{fmt::Write as _, io, time::Instant};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use qlio_data::Value;

use super::sample::SampleFiles;
use crate::{
    chart::{BarChart, BarSeries, Chart},
    codec::{Codec, CodecError, Format, difference, frame, next_frame, positional},
    data::{Shape, header, number, object, schema, text},
    error::{BenchError, failed, usage},
    limits,
    report::{
        Cell, Report, Table,
        number::{decimals, grouped},
    },
    stats::Estimate,
    stop::Stop,
};

/// What one message is.
#[derive(Debug, Clone)]
pub enum Message {
    /// One of our own.
    Shape(Shape),
    /// One that the user brings.
    Sample(SampleFiles),
}

/// What to do.
#[derive(Debug, Clone)]
pub struct CodecsOptions {
    /// What is written and read.
    pub message: Message,
    /// How many of them; without, so many that a second or two pass.
    pub messages: Option<usize>,
    /// In which formats; without, in all that hold it.
    pub formats: Option<Vec<Format>>,
    /// How often; the best time counts.
    pub repeat: usize,
    /// Whether HTTP text holds the same six fields as the others.
    pub same_fields: bool,
}

/// Bytes that all messages together have at most when the user gives no number.
const DEFAULT_BYTES: usize = 8 << 20;
/// Messages when the user gives no number and they are small.
const DEFAULT_MESSAGES: usize = 10_000;

/// Over the columns of the table.
const COLUMNS: [&str; 14] = [
    "codec",
    "encode us/msg",
    "±%",
    "decode us/msg",
    "±%",
    "encode msg/s",
    "decode msg/s",
    "encode MB/s",
    "decode MB/s",
    "bytes/msg",
    "gzip",
    "encode/json",
    "decode/json",
    "bytes/json",
];

/// The figures of one format.
struct Measured {
    format: Format,
    /// Best seconds for all messages.
    encode: f64,
    decode: f64,
    encode_rate: Estimate,
    decode_rate: Estimate,
    /// Bytes of one message, and of what is put before it in a stream.
    bytes: usize,
    framing: usize,
    /// Bytes of one message after gzip.
    gzip: usize,
}

/// A message, ready for each format.
struct Subject {
    title: String,
    value: Value,
    message: Option<qlio_data::codec::protobuf::Message>,
    root: String,
    is_header: bool,
}

/// Measures; `told` hears what is measured next.
///
/// # Errors
/// A file cannot be used, a number goes over a limit, a format cannot hold the message or changes it.
pub fn codecs(
    options: &CodecsOptions,
    stop: &Stop,
    told: &dyn Fn(&str),
) -> Result<Report, BenchError> {
    let subject = subject(&options.message)?;
    if options.repeat == 0 || options.repeat > limits::REPEAT_MAX {
        return Err(usage(format!("`--repeat` must be 1 to {}", limits::REPEAT_MAX)));
    }
    let mut notes = Vec::new();
    let formats = formats(options, &subject, &mut notes)?;
    let messages = messages(options, &subject)?;
    let mut rows = Vec::new();
    for format in formats {
        if stop.is_requested() {
            notes.push("stopped early; some formats are missing".to_owned());
            break;
        }
        told(&format!("{} {} messages", grouped(messages as u64), format.name()));
        match measure(options, &subject, format, messages, stop) {
            Ok(row) => rows.push(row),
            // A sample need not fit a format that nobody asked for; the user's schema it must fit.
            Err(BenchError::Failed(reason))
                if options.formats.is_none() && format != Format::Protobuf =>
            {
                notes.push(format!("{reason}; left out"));
            }
            Err(error) => return Err(error),
        }
    }
    if rows.is_empty() {
        return Err(failed("stopped before anything was measured"));
    }
    Ok(report(options, &subject, messages, &rows, notes))
}

fn subject(message: &Message) -> Result<Subject, BenchError> {
    match message {
        Message::Shape(shape) => Ok(Subject {
            title: format!("shape {}", shape.name()),
            value: shape.value(),
            message: Some(schema::message(*shape)),
            root: shape.root().to_owned(),
            is_header: *shape == Shape::Header,
        }),
        Message::Sample(files) => {
            let sample = files.read()?;
            Ok(Subject {
                title: format!("sample `{}`", sample.name),
                value: sample.value,
                message: sample.message,
                root: "message".to_owned(),
                is_header: false,
            })
        }
    }
}

/// The formats to measure. What was not asked for by name and does not fit is left out with a remark.
fn formats(
    options: &CodecsOptions,
    subject: &Subject,
    notes: &mut Vec<String>,
) -> Result<Vec<Format>, BenchError> {
    let is_asked = options.formats.is_some();
    let wanted = options.formats.clone().unwrap_or_else(|| Format::ALL.to_vec());
    let mut kept = Vec::new();
    for format in wanted {
        let name = format.name();
        let reason = if format.is_flat() && !subject.is_header {
            Some(format!("`{name}` holds only the six fields of `--shape header`"))
        } else if format == Format::Protobuf && subject.message.is_none() {
            Some("`protobuf` needs `--proto` and `--message`".to_owned())
        } else {
            None
        };
        match reason {
            Some(reason) if is_asked => return Err(usage(reason)),
            // Nobody expects the flat formats to hold anything else.
            Some(_) if format.is_flat() => {}
            Some(reason) => notes.push(format!("{reason}; left out")),
            None if kept.contains(&format) => {}
            None => kept.push(format),
        }
    }
    Ok(kept)
}

fn messages(options: &CodecsOptions, subject: &Subject) -> Result<usize, BenchError> {
    let bytes = qlio_data::codec::json::to_string(&subject.value).len().max(1);
    let messages =
        options.messages.unwrap_or_else(|| (DEFAULT_BYTES / bytes).clamp(10, DEFAULT_MESSAGES));
    if messages == 0 || messages > limits::MESSAGES_MAX {
        return Err(usage(format!("`--messages` must be 1 to {}", limits::MESSAGES_MAX)));
    }
    // XML is the largest of the formats, rarely more than three times JSON.
    if messages.saturating_mul(bytes).saturating_mul(3) > limits::CODEC_BUFFER_BYTES_MAX {
        return Err(usage(format!(
            "{messages} messages of about {bytes} bytes need more than the {} bytes that a run may \
             take; use fewer `--messages`",
            limits::CODEC_BUFFER_BYTES_MAX
        )));
    }
    Ok(messages)
}

fn measure(
    options: &CodecsOptions,
    subject: &Subject,
    format: Format,
    messages: usize,
    stop: &Stop,
) -> Result<Measured, BenchError> {
    let name = format.name();
    let codec = Codec { format, message: subject.message.clone(), root: subject.root.clone() };
    let value = match format {
        Format::MsgpackArray => positional(&subject.value),
        Format::Http if !options.same_fields => header::http_message(),
        _ => subject.value.clone(),
    };
    let cannot = |reason: CodecError| failed(format!("`{name}` cannot hold the message: {reason}"));
    let mut one = Vec::new();
    codec.encode(&value, &mut one).map_err(cannot)?;
    let decoded = codec.decode(Bytes::from(one.clone())).map_err(cannot)?;
    if let Some(place) = difference(&value, &decoded, codec.leniency()) {
        return Err(failed(format!(
            "`{name}` changes the message: it differs at `{place}` after writing and reading"
        )));
    }
    let (mut encodes, mut decodes) = (Vec::new(), Vec::new());
    let mut scratch = Vec::new();
    let mut framing = 0;
    for _ in 0..options.repeat {
        if stop.is_requested() && !encodes.is_empty() {
            break;
        }
        let mut stream = Vec::with_capacity((one.len() + 16) * messages);
        let began = Instant::now();
        for _ in 0..messages {
            // Hidden from the compiler, which could otherwise write one message and copy it.
            let value = std::hint::black_box(&value);
            framing = frame(&codec, value, &mut scratch, &mut stream)?;
        }
        encodes.push(began.elapsed().as_secs_f64());
        let stream = Bytes::from(stream);
        let began = Instant::now();
        let mut at = 0;
        for _ in 0..messages {
            let (start, end) = next_frame(&codec, &stream[at..])?;
            let value = codec.decode(stream.slice(at + start..at + end))?;
            std::hint::black_box(value);
            at += end;
        }
        decodes.push(began.elapsed().as_secs_f64());
    }
    #[expect(clippy::cast_precision_loss, reason = "at most ten million messages")]
    let each = |times: &[f64]| {
        Estimate::of(&times.iter().map(|time| time / messages as f64).collect::<Vec<_>>())
    };
    let best = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(Measured {
        format,
        encode: best(&encodes),
        decode: best(&decodes),
        encode_rate: each(&encodes),
        decode_rate: each(&decodes),
        bytes: one.len(),
        framing,
        gzip: gzip(&one).map_err(|error| failed(format!("gzip failed: {error}")))?,
    })
}

/// The bytes of a body as a server with compression would send it.
fn gzip(bytes: &[u8]) -> io::Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    io::Write::write_all(&mut encoder, bytes)?;
    Ok(encoder.finish()?.len())
}

#[expect(clippy::cast_precision_loss, reason = "messages and bytes are far below 2^53")]
fn report(
    options: &CodecsOptions,
    subject: &Subject,
    messages: usize,
    rows: &[Measured],
    notes: Vec<String>,
) -> Report {
    let mut report = Report::new("codecs", format!("Formats: {}", subject.title));
    report.notes = notes;
    let mut out = String::new();
    for row in rows {
        let name = row.format.name();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name} serialization time: {:.6} seconds", row.encode);
        let _ = writeln!(out, "{name} deserialization time: {:.6} seconds", row.decode);
    }
    let json = rows.iter().find(|row| row.format == Format::Json);
    let mut table = Table::new(
        "formats",
        &format!("{} messages, best of {}", grouped(messages as u64), options.repeat),
        &COLUMNS,
    );
    let count = messages as f64;
    let mut results = Vec::new();
    for row in rows {
        let name = row.format.name();
        let micros = |seconds: f64| seconds * 1e6 / count;
        let megabytes = |seconds: f64| row.bytes as f64 * count / 1e6 / seconds;
        let ratio = |figure: fn(&Measured) -> f64| {
            Cell::maybe(json.map(|json| figure(row) / figure(json)), 2)
        };
        let bytes = if row.framing > 0 {
            format!("{} (+{})", row.bytes, row.framing)
        } else {
            row.bytes.to_string()
        };
        table.rows.push(vec![
            name.into(),
            Cell::Number(micros(row.encode), 3),
            Cell::Number(row.encode_rate.error_percent(), 1),
            Cell::Number(micros(row.decode), 3),
            Cell::Number(row.decode_rate.error_percent(), 1),
            Cell::Number(count / row.encode, 0),
            Cell::Number(count / row.decode, 0),
            Cell::Number(megabytes(row.encode), 1),
            Cell::Number(megabytes(row.decode), 1),
            bytes.into(),
            Cell::Number(row.gzip as f64, 0),
            ratio(|row| row.encode),
            ratio(|row| row.decode),
            ratio(|row| row.bytes as f64),
        ]);
        results.push(to_json(row, count));
        report.metric(format!("{name}/encode"), micros(row.encode), "us", false);
        report.metric(format!("{name}/decode"), micros(row.decode), "us", false);
        report.metric(format!("{name}/bytes"), row.bytes as f64, "bytes", false);
    }
    let _ = write!(out, "\n{}", table.to_text());
    if let (Message::Sample(_), Some(json)) = (&options.message, json) {
        let savings = savings(json, rows, messages);
        let _ = write!(out, "\nWhat leaving JSON would save:\n{}", savings.to_text());
        report.tables.push(savings);
    }
    report.text = out;
    report.tables.insert(0, table);
    report.charts = charts(rows, count);
    report.options = object([
        ("subject", text(&subject.title)),
        ("messages", Value::from(messages as u64)),
        ("repeat", Value::from(options.repeat as u64)),
        ("sameFields", Value::Bool(options.same_fields)),
    ]);
    report.result = object([("codecs", Value::array(results))]);
    report
}

/// The figures of one format.
#[expect(clippy::cast_precision_loss, reason = "bytes are far below 2^53")]
fn to_json(row: &Measured, count: f64) -> Value {
    let part = |seconds: f64, rate: &Estimate| {
        object([
            ("bestSeconds", number(seconds)),
            ("microsecondsPerMessage", number(seconds * 1e6 / count)),
            ("messagesPerSecond", number(count / seconds)),
            ("meanMessagesPerSecond", number(rate.rate())),
            ("errorPercent", number(rate.error_percent())),
            ("megabytesPerSecond", number(row.bytes as f64 * count / 1e6 / seconds)),
        ])
    };
    object([
        ("codec", text(row.format.name())),
        ("encode", part(row.encode, &row.encode_rate)),
        ("decode", part(row.decode, &row.decode_rate)),
        ("bytesPerMessage", Value::from(row.bytes as u64)),
        ("framingBytes", Value::from(row.framing as u64)),
        ("gzipBytes", Value::from(row.gzip as u64)),
    ])
}

/// What each format would save against JSON.
#[expect(clippy::cast_precision_loss, reason = "bytes of one message")]
fn savings(json: &Measured, rows: &[Measured], messages: usize) -> Table {
    let mut table = Table::new(
        "savings",
        "What leaving JSON would save",
        &[
            "codec",
            "bytes",
            "bytes with gzip",
            "decode CPU",
            "encode CPU",
            "saved per million messages",
        ],
    );
    let share = |old: f64, new: f64| {
        let percent = 100.0 * (new - old) / old;
        format!("{}{} %", if percent > 0.0 { "+" } else { "" }, decimals(percent, 0))
    };
    for row in rows.iter().filter(|row| row.format != Format::Json) {
        let (bytes, seconds) = (
            json.bytes as f64 - row.bytes as f64,
            (json.decode - row.decode) * 1e6 / messages as f64,
        );
        table.rows.push(vec![
            row.format.name().into(),
            share(json.bytes as f64, row.bytes as f64).into(),
            share(json.gzip as f64, row.gzip as f64).into(),
            share(json.decode, row.decode).into(),
            share(json.encode, row.encode).into(),
            format!("{} MB, {} s to decode", decimals(bytes, 1), decimals(seconds, 2)).into(),
        ]);
    }
    table
}

fn charts(rows: &[Measured], count: f64) -> Vec<Chart> {
    let groups: Vec<String> = rows.iter().map(|row| row.format.name().to_owned()).collect();
    let series = |name: &str, figure: &dyn Fn(&Measured) -> f64| BarSeries {
        name: name.to_owned(),
        values: rows.iter().map(figure).collect(),
        margins: Vec::new(),
    };
    let bars = |name: &str, title: &str, label: &str, series| {
        Chart::Bars(BarChart {
            name: name.to_owned(),
            title: title.to_owned(),
            label: label.to_owned(),
            groups: groups.clone(),
            series,
        })
    };
    #[expect(clippy::cast_precision_loss, reason = "bytes of one message")]
    let sizes =
        vec![series("plain", &|row| row.bytes as f64), series("with gzip", &|row| row.gzip as f64)];
    vec![
        bars(
            "times",
            "Time to write and to read one message",
            "microseconds per message, less is better",
            vec![
                series("encode", &|row| row.encode * 1e6 / count),
                series("decode", &|row| row.decode * 1e6 / count),
            ],
        ),
        bars("bytes", "Size of one message", "bytes, less is better", sizes),
    ]
}
