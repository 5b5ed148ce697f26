//! `<anything>.routes.csv`: one route test on each row (`docs/guide/testing.md`).
//!
//! In goes text, out come requests with the lines they stand on. The columns `name`, `request` and
//! `type` are known by exactly these titles, in any case; every other column holds headers,
//! `Name:value`, percent-encoded where they need it.

use bytes::Bytes;
use hyper::{
    HeaderMap, Method, Uri,
    header::{HeaderName, HeaderValue},
};
use qlio_data::{
    Value,
    codec::{DecodeError, DecodeLimits, csv},
    projection::Projection,
};

use qlio_data::percent;

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) line: u32,
    pub(super) name: String,
    pub(super) request: RouteRequest,
}

/// A request to a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RouteRequest {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body and its content type.
    pub body: Option<(HeaderValue, Bytes)>,
}

/// Why a table, or one of its rows, makes no sense.
#[derive(Debug, thiserror::Error)]
pub(super) enum RouteTableError {
    #[error(transparent)]
    NotCsv(#[from] DecodeError),
    #[error("there is no header row `name,request,type`")]
    NoTitles,
    #[error("the header row needs the columns `name` and `request`")]
    NoColumns,
    #[error("{cells} cells under {titles} titles")]
    TooManyCells { cells: usize, titles: usize },
    #[error("the test has no name")]
    NoName,
    #[error("`{0}` is no {1}")]
    Kind(String, &'static str),
    #[error("`{0}` is not properly percent-encoded")]
    Encoding(String),
    #[error("`{0}` can not be sent")]
    Value(String),
}

/// Reads a file: the rows that make sense, and what is wrong with the others, by line.
pub(super) fn parse(text: &str) -> (Vec<Row>, Vec<(u32, RouteTableError)>) {
    let bytes = Bytes::copy_from_slice(text.as_bytes());
    let decoded = csv::decode(bytes, false, &Projection::All, &DecodeLimits::default());
    let records = match decoded {
        Ok(records) => records,
        Err(error) => {
            let before = &text.as_bytes()[..error.offset.min(text.len())];
            let line = memchr::memchr_iter(b'\n', before).count() + 1;
            return (Vec::new(), vec![(line as u32, error.into())]);
        }
    };
    let records = records.elements().map(std::borrow::Cow::into_owned).unwrap_or_default();
    let mut lines = record_lines(text);
    // Should the two ever count differently, no row may be lost.
    lines.resize(records.len(), lines.last().copied().unwrap_or(1));
    let cells = |record: &Value| -> Vec<String> {
        let cells = record.elements().map(std::borrow::Cow::into_owned).unwrap_or_default();
        cells.iter().map(|cell| cell.as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut numbered = records.iter().map(cells).zip(lines);
    let Some((titles, first_line)) = numbered.next() else {
        return (Vec::new(), vec![(1, RouteTableError::NoTitles)]);
    };
    let column =
        |wanted: &str| titles.iter().position(|title| title.trim().eq_ignore_ascii_case(wanted));
    let (Some(name), Some(request)) = (column("name"), column("request")) else {
        return (Vec::new(), vec![(first_line, RouteTableError::NoColumns)]);
    };
    let columns = Columns { name, request, method: column("type"), count: titles.len() };
    let mut rows = Vec::new();
    let mut problems = Vec::new();
    for (cells, line) in numbered {
        match columns.row(&cells, line) {
            Ok(row) => rows.push(row),
            Err(error) => problems.push((line, error)),
        }
    }
    (rows, problems)
}

struct Columns {
    name: usize,
    request: usize,
    method: Option<usize>,
    count: usize,
}

impl Columns {
    fn row(&self, cells: &[String], line: u32) -> Result<Row, RouteTableError> {
        let cell = |at: usize| cells.get(at).map(|cell| cell.trim()).unwrap_or_default();
        if cells.len() > self.count {
            let (cells, titles) = (cells.len(), self.count);
            return Err(RouteTableError::TooManyCells { cells, titles });
        }
        let name = cell(self.name);
        if name.is_empty() {
            return Err(RouteTableError::NoName);
        }
        let target = cell(self.request);
        if !target.starts_with('/') || target.parse::<Uri>().is_err() {
            return Err(RouteTableError::Kind(target.to_owned(), "path with query"));
        }
        let method = self.method.map_or("get", cell);
        let method = match method.to_ascii_lowercase().as_str() {
            "" | "get" => Method::GET,
            "post" => Method::POST,
            "put" => Method::PUT,
            "delete" => Method::DELETE,
            "patch" => Method::PATCH,
            "head" => Method::HEAD,
            other => {
                let wanted = "type; use get, post, put, delete, patch or head";
                return Err(RouteTableError::Kind(other.to_owned(), wanted));
            }
        };
        let mut headers = HeaderMap::new();
        let is_header =
            |at: usize| at != self.name && at != self.request && Some(at) != self.method;
        for at in (0..cells.len()).filter(|at| is_header(*at)) {
            if !cell(at).is_empty() {
                let (name, value) = header(cell(at))?;
                headers.append(name, value);
            }
        }
        let request = RouteRequest { method, target: target.to_owned(), headers, body: None };
        Ok(Row { line, name: name.to_owned(), request })
    }
}

fn header(cell: &str) -> Result<(HeaderName, HeaderValue), RouteTableError> {
    let decoded = percent::decode(cell).map_err(|_| RouteTableError::Encoding(cell.to_owned()))?;
    let none = || RouteTableError::Kind(cell.to_owned(), "header `Name:value`");
    let (name, value) = decoded.split_once(':').ok_or_else(none)?;
    let name = HeaderName::try_from(name.trim()).map_err(|_| none())?;
    let value =
        HeaderValue::try_from(value.trim()).map_err(|_| RouteTableError::Value(cell.to_owned()))?;
    Ok((name, value))
}

/// The line on which each record begins, empty lines left out.
fn record_lines(text: &str) -> Vec<u32> {
    let mut lines = Vec::new();
    let mut line = 1;
    let mut is_quoted = false;
    let (mut is_start_of_record, mut is_start_of_field) = (true, true);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for c in text.chars() {
        if c == '\n' {
            line += 1;
        }
        if is_quoted {
            is_quoted = c != '"';
            continue;
        }
        match c {
            '\n' | '\r' => (is_start_of_record, is_start_of_field) = (true, true),
            _ => {
                if is_start_of_record {
                    lines.push(line);
                }
                // A doubled quote closes and opens at once.
                is_quoted = c == '"' && is_start_of_field;
                is_start_of_record = false;
                is_start_of_field = c == ',' || is_quoted;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_become_requests() {
        let text = "name,request,type,header1,my request type,filename\n\
                    by-subject,/books/sea?x=1,get,\"X-When:Tue, 1 Jan\",X-A:a%2Cb,\n\
                    \n\
                    \"add \"\"it\"\"\",/books,POST,,X-B: 1,\n";
        let (rows, problems) = parse(text);
        assert!(problems.is_empty(), "{problems:?}");
        let [first, second] = &*rows else { panic!("{rows:?}") };
        assert_eq!((first.line, first.name.as_str()), (2, "by-subject"));
        assert_eq!(first.request.target, "/books/sea?x=1");
        assert_eq!(first.request.headers["x-when"], "Tue, 1 Jan");
        assert_eq!(first.request.headers["x-a"], "a,b");
        assert_eq!((second.line, second.name.as_str()), (4, "add \"it\""));
        assert_eq!(
            (&second.request.method, &second.request.headers["x-b"]),
            (&Method::POST, &HeaderValue::from_static("1"))
        );
    }

    #[test]
    fn every_bad_row_is_named_with_its_line() {
        let text = "name,request,type,h\n,/a\na,b\na,/a,fetch\n\"a\nb\",/a,get,x\nc,/a,get,a%zz:b\nd,/a,get,a:b,c\n";
        let (rows, problems) = parse(text);
        assert!(rows.is_empty());
        let shown: Vec<_> =
            problems.iter().map(|(line, reason)| format!("{line}: {reason}")).collect();
        assert_eq!(
            shown,
            [
                "2: the test has no name",
                "3: `b` is no path with query",
                "4: `fetch` is no type; use get, post, put, delete, patch or head",
                "5: `x` is no header `Name:value`",
                "7: `a%zz:b` is not properly percent-encoded",
                "8: 5 cells under 4 titles",
            ]
        );
        assert_eq!(parse("").1[0].0, 1);
        assert_eq!(parse("title,path\n").1[0].0, 1);
        assert_eq!(parse("name,request\na,\"/b").1[0].0, 2);
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_has_a_line_for_each_record(text in "[a,\"\\n\\r/:%]{0,30}\\PC{0,10}") {
            let (rows, problems) = parse(&format!("name,request\n{text}"));
            for line in rows.iter().map(|row| row.line).chain(problems.iter().map(|(line, _)| *line)) {
                prop_assert!(line >= 1 && line as usize <= text.lines().count() + 2);
            }
        }
    }
}
