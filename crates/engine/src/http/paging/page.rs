//! One page: its rows, and what it says of the next.
//!
//! Cursors and totals stand in the whole answer, of which the rows are a part (PAG-4); so they are read apart, by
//! the decoder that has read the rows, of the body as "parse response" left it.

use std::cell::RefCell;

use bytes::Bytes;
use qlio_data::{
    Text, Value,
    codec::{Stop, media_type::MediaType},
    path::{Path, Segment},
    projection::Projection,
};
use qlio_plan::catalog::PagingManner;
use qlio_syntax::diagnostic::codes;

use super::course::Says;
use crate::{
    error::RunError,
    http::{
        Call,
        answer::{Answer, in_charset_of, resultset},
        decoding::Decoding,
        large::Apart,
        prepare::Prepared,
    },
    operator::rows::Relation,
    sandbox::Parsed,
    transport::{Headers, next_link},
};

/// A page.
pub(super) struct Page {
    pub(super) relation: Relation,
    pub(super) says: Says,
    /// The address that answered.
    pub(super) uri: String,
}

/// What is kept of an answer for what it says of other pages.
struct Whole {
    uri: String,
    headers: Headers,
    link: Option<String>,
    content: Content,
}

/// The whole answer, where something in it is asked for.
enum Content {
    Unread,
    Value(Value),
    Body(Bytes, MediaType),
}

impl Call<'_> {
    /// Asks for a page.
    pub(super) async fn page(
        &self,
        request: &mut Prepared,
        is_first: bool,
    ) -> Result<Page, RunError> {
        let Some(paging) = &self.verb.paging else {
            return Err(RunError::internal("a page of a table without pages"));
        };
        let cursor = match &paging.manner {
            PagingManner::Cursor { path, .. } => Some(path.as_slice()),
            _ => None,
        };
        // What the first page says of all rows holds for all pages.
        let total = paging.total.as_deref().filter(|_| is_first);
        let is_link = matches!(paging.manner, PagingManner::Link);
        let is_read = cursor.is_some() || total.is_some();
        let keep = |answer: &Answer<'_>| Whole {
            uri: answer.uri.to_owned(),
            headers: answer.headers.clone(),
            link: if is_link { next_link(answer.headers.all(&http::header::LINK)) } else { None },
            content: match &answer.parsed {
                _ if !is_read => Content::Unread,
                Parsed::Value(value) => Content::Value(value.clone()),
                _ => Content::Body(answer.content(), in_charset_of(answer, answer.media_type())),
            },
        };
        let key = request.cache_key.take();
        let (relation, whole) = if let (Some(key), Some(cache)) = (key, self.run.engine.cache()) {
            Box::pin(self.send_cached(request, key, cache, keep)).await?
        } else {
            let (decoded, whole) = Box::pin(self.send_uncached(request, keep)).await?;
            (self.project(decoded).await?, whole)
        };
        let Whole { uri, headers, link, content } = whole;
        let mut says = Says { link, ..Says::default() };
        let value = match content {
            Content::Unread => return Ok(Page { relation, says, uri }),
            Content::Value(value) => value,
            Content::Body(body, media_type) => {
                let paths = [cursor, total];
                self.whole_value(body, &headers, media_type, &paths).await?
            }
        };
        let at = |steps: &[Text]| resultset(value.clone(), steps).unwrap_or_default();
        says.cursor = cursor.map(at).unwrap_or_default();
        says.total = total.map(at).unwrap_or_default();
        Ok(Page { relation, says, uri })
    }

    /// The parts of a whole answer that these paths lead to.
    async fn whole_value(
        &self,
        body: Bytes,
        headers: &Headers,
        media_type: MediaType,
        paths: &[Option<&[Text]>],
    ) -> Result<Value, RunError> {
        let projection = self.projection_of(paths);
        let bytes = body.len();
        let is_large = self.is_large(bytes, headers);
        self.run.budget.work_of_decoding(bytes);
        let decode = move |decoding: &Decoding<'_>| {
            decoding.decode(body, &media_type, &projection, true).map_err(|fault| fault.message)
        };
        let mut reserved = None;
        let decoded = if is_large {
            let (decoded, _, held) = self.decode_apart(bytes, decode).await?;
            reserved = Some(held);
            decoded
        } else {
            // Whoever read the rows has warned of the body.
            let warned = RefCell::default();
            let decoded = Apart::of(self).decode(&warned, Stop::default(), decode);
            decoded.ok_or_else(|| RunError::internal("an answer to a verb that is not there"))?
        };
        let value = decoded.map_err(|reason| {
            let message = format!("table {}: a page cannot be read: {reason}", self.table.name);
            RunError::upstream(codes::BAD_PAGE, message)
        })?;
        self.run.budget.charge_value(&value).await?;
        drop(reserved);
        Ok(value)
    }

    /// What a decoder must keep for these paths.
    fn projection_of(&self, paths: &[Option<&[Text]>]) -> Projection {
        let has_root = self.verb.format.as_ref().is_some_and(|format| format.root.is_some());
        let has_place = |steps: &&[Text]| steps.iter().any(|step| step.parse::<usize>().is_ok());
        if has_root || paths.iter().flatten().any(has_place) {
            return Projection::All;
        }
        let mut projection = Projection::none();
        for steps in paths.iter().flatten() {
            let segments = steps.iter().map(|step| Segment::Member(step.clone())).collect();
            projection.add_path(&Path::from_segments(segments));
        }
        projection
    }
}
