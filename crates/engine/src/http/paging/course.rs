//! Which page comes next, and when there is none (PAG-2 to PAG-6).
//!
//! In: what pages were and said. Out: what to ask for. Nothing here waits or knows requests.

use std::collections::HashSet;

use qlio_data::Value;
use qlio_plan::catalog::{Paging, PagingManner};

/// What is known of the pages of a statement before the first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pages<'a> {
    pub(super) paging: &'a Paging,
    /// Rows of a page that is full.
    pub(super) size: Option<u64>,
    /// So many rows are enough.
    pub(super) wanted: Option<u64>,
    /// The most pages of one chain.
    pub(super) most: u64,
    /// Hooks see answers and may drop rows, so that a short page says nothing.
    pub(super) may_lose_rows: bool,
}

/// What a page says besides its rows.
#[derive(Debug, Default)]
pub(super) struct Says {
    /// The value for the next page.
    pub(super) cursor: Value,
    /// The number of all rows.
    pub(super) total: Value,
    /// The address of the next page.
    pub(super) link: Option<String>,
}

/// What is asked for next.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing: all wanted rows are here.
    Done,
    /// A page of this cursor.
    Cursor(Value),
    /// The page at this address, which stands in the answer.
    Link(String),
    /// The pages of these numbers, in this order, all at once.
    Numbers(Vec<u64>),
}

/// What is wrong with the pages.
#[derive(Debug, PartialEq)]
pub(super) enum Stray {
    /// What should be a cursor is none.
    Cursor(&'static str),
    /// What should be the number of all rows is none.
    Total(String),
    /// The next page was there before.
    Repeated,
    /// There are more pages than may be asked for; so many, if that is known.
    TooMany(Option<u64>),
}

/// Whether pages that were asked for together are still of use.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// They are.
    GoOn,
    /// All wanted rows are here.
    Done,
    /// They begin elsewhere than was thought.
    Elsewhere,
}

/// How far the pages of one chain have come.
pub(super) struct Course<'a> {
    pages: Pages<'a>,
    /// Pages so far.
    count: u64,
    /// Rows so far.
    rows: u64,
    /// Rows of the first page.
    first_rows: u64,
    total: Option<u64>,
    /// Cursors and addresses so far.
    seen: HashSet<String>,
    /// A page without rows led to another one, which was not asked for.
    pub(super) ended_by_empty_page: bool,
}

impl<'a> Course<'a> {
    pub(super) fn new(pages: Pages<'a>) -> Self {
        Self {
            pages,
            count: 0,
            rows: 0,
            first_rows: 0,
            total: None,
            seen: HashSet::new(),
            ended_by_empty_page: false,
        }
    }

    /// Notes what a page is asked for with, which must be new.
    pub(super) fn visit(&mut self, name: String) -> Result<(), Stray> {
        if self.seen.insert(name) { Ok(()) } else { Err(Stray::Repeated) }
    }

    /// Notes a page.
    pub(super) fn take(&mut self, rows: u64) {
        if self.count == 0 {
            self.first_rows = rows;
        }
        self.count += 1;
        self.rows += rows;
    }

    /// What comes behind the page that was noted last, of so many rows.
    pub(super) fn next(&mut self, rows: u64, says: Says) -> Result<Step, Stray> {
        if self.count == 1 {
            self.total = total(&says.total)?;
        }
        if self.has_all() {
            return Ok(Step::Done);
        }
        match &self.pages.paging.manner {
            PagingManner::Page { .. } | PagingManner::Offset { .. } => {
                if self.is_last(rows) {
                    return Ok(Step::Done);
                }
                self.numbers().map(Step::Numbers)
            }
            PagingManner::Cursor { .. } => {
                let Some(cursor) = cursor(says.cursor)? else { return Ok(Step::Done) };
                let text = cursor.scalar_text().unwrap_or_default().to_string();
                if !self.leads_on(rows)? {
                    return Ok(Step::Done);
                }
                self.visit(text)?;
                Ok(Step::Cursor(cursor))
            }
            PagingManner::Link => {
                let Some(link) = says.link else { return Ok(Step::Done) };
                Ok(if self.leads_on(rows)? { Step::Link(link) } else { Step::Done })
            }
        }
    }

    /// Whether pages that were asked for together with the one noted last, of so many rows, are of use.
    pub(super) fn is_used(&self, rows: u64) -> Use {
        if self.has_all() || self.is_last(rows) {
            return Use::Done;
        }
        let is_elsewhere = match self.pages.paging.manner {
            PagingManner::Offset { .. } => rows != self.page_rows(),
            _ => false,
        };
        if is_elsewhere { Use::Elsewhere } else { Use::GoOn }
    }

    /// How many rows there should be, where the answers say another number than there were.
    pub(super) fn missed_total(&self) -> Option<(u64, u64)> {
        let is_cut = self.pages.wanted.is_some_and(|wanted| self.rows >= wanted);
        self.total.filter(|total| *total != self.rows && !is_cut).map(|total| (total, self.rows))
    }

    /// Whether no row is missing.
    fn has_all(&self) -> bool {
        self.target().is_some_and(|target| self.rows >= target)
    }

    /// The number of rows that are enough, as far as it is known.
    fn target(&self) -> Option<u64> {
        match (self.total, self.pages.wanted) {
            (Some(total), Some(wanted)) => Some(total.min(wanted)),
            (total, wanted) => total.or(wanted),
        }
    }

    /// Whether a numbered page of so many rows is the last one.
    fn is_last(&self, rows: u64) -> bool {
        let is_short = self.pages.size.is_some_and(|size| rows < size);
        rows == 0 || (is_short && self.total.is_none() && !self.pages.may_lose_rows)
    }

    /// Rows of a page, as far as it is known.
    fn page_rows(&self) -> u64 {
        match (self.total, self.pages.size) {
            // The API may have a size of its own, which the first page shows.
            (None, Some(size)) => size.max(1),
            _ => self.first_rows.max(1),
        }
    }

    /// The numbers of the pages that are asked for next.
    fn numbers(&self) -> Result<Vec<u64>, Stray> {
        let room = self.pages.most.saturating_sub(self.count);
        let is_known = self.total.is_some() || self.pages.size.is_some();
        let count = match self.target().filter(|_| is_known) {
            Some(target) => target.saturating_sub(self.rows).div_ceil(self.page_rows()).max(1),
            None => 1,
        };
        if count > room && self.total.is_some() {
            return Err(Stray::TooMany(Some(self.count + count)));
        }
        if room == 0 {
            return Err(Stray::TooMany(None));
        }
        let first = match self.pages.paging.manner {
            PagingManner::Page { first, .. } => first.saturating_add(self.count),
            _ => self.rows,
        };
        let width = match self.pages.paging.manner {
            PagingManner::Offset { .. } => self.page_rows(),
            _ => 1,
        };
        let number = |place: u64| first.saturating_add(place.saturating_mul(width));
        Ok((0..count.min(room)).map(number).collect())
    }

    /// Whether what a page of so many rows names is asked for.
    fn leads_on(&mut self, rows: u64) -> Result<bool, Stray> {
        if rows == 0 {
            self.ended_by_empty_page = true;
            return Ok(false);
        }
        if self.count >= self.pages.most {
            return Err(Stray::TooMany(None));
        }
        Ok(true)
    }
}

/// The value that asks for the next page; nothing, the empty text, `false` and an empty object, which is an empty
/// element of XML, end the pages.
fn cursor(value: Value) -> Result<Option<Value>, Stray> {
    if value.is_nothing() {
        return Ok(None);
    }
    match &value {
        Value::Bool(false) => Ok(None),
        Value::Bool(true) => Err(Stray::Cursor("`true`")),
        _ if value.is_array() => Err(Stray::Cursor("a list")),
        _ => match value.scalar_text() {
            Some(text) if text.is_empty() => Ok(None),
            Some(_) => Ok(Some(value)),
            None if value.is_empty() => Ok(None),
            None => Err(Stray::Cursor("an object")),
        },
    }
}

/// The number of all rows, if it is told.
fn total(value: &Value) -> Result<Option<u64>, Stray> {
    if value.is_nothing() {
        return Ok(None);
    }
    let text = value.scalar_text();
    let number = text.as_deref().and_then(|text| text.trim().parse().ok());
    number.map(Some).ok_or_else(|| {
        Stray::Total(match text {
            Some(text) => {
                format!("`{}`", text.chars().take(SHOWN_CHARS_MAX).collect::<String>())
            }
            None => "a structure".to_owned(),
        })
    })
}

/// Characters of a value that a message repeats.
const SHOWN_CHARS_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use qlio_data::Text;
    use qlio_plan::catalog::PageSize;

    use super::*;

    fn paging(manner: PagingManner, size: Option<u64>) -> Paging {
        let size = size.map(|rows| PageSize { parameter: Text::from("n"), rows });
        Paging { manner, size, total: None, pages_max: None }
    }

    fn by_page() -> PagingManner {
        PagingManner::Page { parameter: "page".into(), first: 1 }
    }

    fn by_offset() -> PagingManner {
        PagingManner::Offset { parameter: "offset".into() }
    }

    fn by_cursor() -> PagingManner {
        PagingManner::Cursor { parameter: "after".into(), path: Vec::new() }
    }

    fn pages(paging: &Paging, wanted: Option<u64>) -> Pages<'_> {
        let size = paging.size.as_ref().map(|size| size.rows);
        Pages { paging, size, wanted, most: 20, may_lose_rows: false }
    }

    fn numbers(numbers: &[u64]) -> Step {
        Step::Numbers(numbers.to_vec())
    }

    fn with_total(total: u64) -> Says {
        Says { total: Value::from(total), ..Says::default() }
    }

    fn with_cursor(cursor: impl Into<Value>) -> Says {
        Says { cursor: cursor.into(), ..Says::default() }
    }

    /// What comes behind a first page of so many rows.
    fn behind_first(pages: Pages<'_>, rows: u64, says: Says) -> Result<Step, Stray> {
        let mut course = Course::new(pages);
        course.take(rows);
        course.next(rows, says)
    }

    #[test]
    fn a_limit_and_a_size_tell_how_many_pages_there_are() {
        let paging = paging(by_page(), Some(100));
        let behind = |wanted, rows| behind_first(pages(&paging, wanted), rows, Says::default());
        assert_eq!(behind(Some(250), 100), Ok(numbers(&[2, 3])));
        assert_eq!(behind(Some(100), 100), Ok(Step::Done));
        assert_eq!(behind(Some(250), 60), Ok(Step::Done));
        assert_eq!(behind(None, 100), Ok(numbers(&[2])));
        assert_eq!(behind(None, 130), Ok(numbers(&[2])));
        assert_eq!(behind(None, 0), Ok(Step::Done));
        assert_eq!(behind(Some(10_000), 100), Ok(numbers(&(2..=20).collect::<Vec<_>>())));
    }

    #[test]
    fn a_total_tells_it_too_by_the_rows_of_the_first_page() {
        let by = |manner| paging(manner, Some(100));
        let behind = |paging: &Paging, rows, total| {
            behind_first(pages(paging, None), rows, with_total(total))
        };
        assert_eq!(behind(&by(by_page()), 100, 250), Ok(numbers(&[2, 3])));
        assert_eq!(behind(&by(by_page()), 50, 120), Ok(numbers(&[2, 3])));
        assert_eq!(behind(&by(by_offset()), 50, 120), Ok(numbers(&[50, 100])));
        assert_eq!(behind(&by(by_offset()), 100, 100), Ok(Step::Done));
        assert_eq!(behind(&by(by_page()), 100, 2_001), Err(Stray::TooMany(Some(21))));
        assert_eq!(behind(&by(by_page()), 0, 9), Ok(Step::Done));
    }

    #[test]
    fn without_a_size_pages_end_with_one_that_is_empty() {
        let paging = paging(by_offset(), None);
        assert_eq!(behind_first(pages(&paging, None), 7, Says::default()), Ok(numbers(&[7])));
        assert_eq!(behind_first(pages(&paging, Some(50)), 7, Says::default()), Ok(numbers(&[7])));
    }

    #[test]
    fn a_cursor_ends_with_nothing_and_is_a_text_or_a_number() {
        let paging = paging(by_cursor(), Some(2));
        let behind = |says| behind_first(pages(&paging, None), 1, says);
        assert_eq!(behind(with_cursor("a")), Ok(Step::Cursor(Value::from("a"))));
        assert_eq!(behind(with_cursor(0_u64)), Ok(Step::Cursor(Value::from(0_u64))));
        for end in [Value::Null, Value::Absent, Value::from(""), Value::Bool(false)] {
            assert_eq!(behind(with_cursor(end)), Ok(Step::Done));
        }
        assert_eq!(behind(with_cursor(Value::Bool(true))), Err(Stray::Cursor("`true`")));
        assert_eq!(behind(with_cursor(Value::array(Vec::new()))), Err(Stray::Cursor("a list")));
        let mut course = Course::new(pages(&paging, None));
        course.take(2);
        assert!(course.next(2, with_cursor("a")).is_ok());
        course.take(2);
        assert_eq!(course.next(2, with_cursor("a")), Err(Stray::Repeated));
        course.take(0);
        assert_eq!(course.next(0, with_cursor("b")), Ok(Step::Done));
        assert!(course.ended_by_empty_page);
    }

    #[test]
    fn a_total_is_a_whole_number() {
        let paging = paging(by_page(), None);
        let behind =
            |total: Value| behind_first(pages(&paging, None), 1, Says { total, ..Says::default() });
        assert_eq!(behind(Value::from("1")), Ok(Step::Done));
        assert_eq!(behind(Value::from("many")), Err(Stray::Total("`many`".to_owned())));
        assert_eq!(behind(Value::int(-1)), Err(Stray::Total("`-1`".to_owned())));
        let list = Value::array(Vec::new());
        assert_eq!(behind(list), Err(Stray::Total("a structure".to_owned())));
    }

    proptest! {
        /// An API of so many rows gives all of them, or as many as are wanted, whatever it says beside them.
        #[test]
        fn every_row_comes_once(
            rows in 0_u64..200,
            size in 1_u64..30,
            own_size in proptest::option::of(1_u64..30),
            wanted in proptest::option::of(0_u64..250),
            has_total: bool,
            has_size: bool,
            is_offset: bool,
        ) {
            let manner = if is_offset { by_offset() } else { by_page() };
            let paging = paging(manner, has_size.then_some(size));
            // An API that takes another size than it is asked for must not end by it.
            let real = match own_size {
                Some(own) if has_total || own >= size => own,
                _ => size,
            };
            let mut course = Course::new(Pages { most: 1_000, ..pages(&paging, wanted) });
            let mut found: Vec<u64> = Vec::new();
            let answer = |number: u64| {
                let start = if is_offset { number } else { (number - 1) * real };
                (start..rows.min(start.saturating_add(real))).collect::<Vec<_>>()
            };
            let mut page = answer(u64::from(!is_offset));
            found.extend(&page);
            course.take(page.len() as u64);
            loop {
                let says = if has_total { with_total(rows) } else { Says::default() };
                let step = course.next(page.len() as u64, says).expect("few pages");
                let Step::Numbers(numbers) = step else { break };
                let mut usage = Use::GoOn;
                for number in numbers {
                    page = answer(number);
                    found.extend(&page);
                    course.take(page.len() as u64);
                    usage = course.is_used(page.len() as u64);
                    if usage != Use::GoOn {
                        break;
                    }
                }
                if usage == Use::Done {
                    break;
                }
            }
            let enough = rows.min(wanted.unwrap_or(u64::MAX));
            prop_assert!(found.len() as u64 >= enough, "{found:?}");
            prop_assert_eq!(&found[..], &(0..found.len() as u64).collect::<Vec<_>>()[..]);
        }
    }
}
