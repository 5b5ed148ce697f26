//! The pages of a statement's requests (PAG-1 to PAG-12).
//!
//! ```text
//! request ─▶ first page ─▶ what it says ─▶ [course] what comes next ─▶ pages ─▶ … ─▶ all rows, in order
//! ```
//!
//! In: the requests of a statement, prepared, as they ask for their first pages. Out: for each the rows of all its
//! pages as if they were one answer. A page is a request like any other: it counts, is cached, watched and
//! traced as one, and its failure is that of its chain. Dropping the future drops what is under way.

mod course;
mod page;
mod rows;

use bytes::Bytes;
use futures_util::{StreamExt, future::join_all, stream::FuturesOrdered};
use http::Method;
use qlio_data::{Text, Value};
use qlio_plan::catalog::PagingManner;
use qlio_syntax::{ast::VerbKind, diagnostic::codes};

use super::{
    Call, Payload,
    prepare::{Prepared, Task},
    send::places,
};
use crate::{
    error::{Fact, RunError},
    operator::{
        gather::{Merge, gather_rows},
        rows::Relation,
    },
    own::Own,
    sandbox::Hook,
    transport::{LinkFault, RequestHeaders, shown_uri, strip_credentials},
};
use course::{Course, Pages, Step, Stray, Use};
use page::Page;
use rows::PageRows;

/// The pages of the requests that one set of own values makes.
pub(super) struct Paged<'c, 'a> {
    call: &'c Call<'a>,
    pages: Pages<'c>,
    /// What the statement says, and how large a page is.
    own: Own,
}

/// What a request for the page behind a link has in common with the one before it.
struct Like {
    method: Method,
    uri: String,
    headers: RequestHeaders,
    body: Bytes,
    hooks: Option<std::rc::Rc<super::hooks::Hooks>>,
    /// A link has led abroad, from where nothing leads back to what is only for the table's own host.
    is_abroad: bool,
}

impl<'a> Call<'a> {
    /// The pages of a select with these values; `None` if its table has none, or if it asks for one itself.
    pub(super) fn paged<'c>(&'c self, own: &Own, wanted: Option<u64>) -> Option<Paged<'c, 'a>> {
        let paging = self.verb.paging.as_ref().filter(|_| self.kind == VerbKind::Select)?;
        let said = |name: &Text| own.iter().rev().find(|(own, _)| own == name);
        if paging.parameter().is_some_and(|parameter| said(parameter).is_some()) {
            return None;
        }
        let mut sent = own.clone();
        let size = paging.size.as_ref().and_then(|size| {
            if let Some((_, value)) = said(&size.parameter) {
                return value.scalar_text().and_then(|text| text.parse().ok());
            }
            sent.push((size.parameter.clone(), Value::from(size.rows)));
            Some(size.rows)
        });
        let setting = self.run.engine.settings().pages_max;
        let most = paging.pages_max.unwrap_or(setting);
        let may_lose_rows =
            self.scripts.as_ref().is_some_and(|scripts| scripts.may_replace_answers());
        let pages = Pages { paging, size, wanted, most, may_lose_rows };
        Some(Paged { call: self, pages, own: sent })
    }
}

impl Call<'_> {
    /// The rows for each of these values, which ask for all that they want; a select that asks for a page itself
    /// gets that one.
    pub(super) async fn paged_rows(
        &self,
        owns: Vec<Own>,
        width: usize,
    ) -> Result<Vec<Relation>, RunError> {
        let paged: Vec<_> = owns.iter().map(|own| self.paged(own, None)).collect();
        let mut parts = Vec::with_capacity(owns.len());
        let mut chains = Vec::with_capacity(owns.len());
        let mut all = Vec::with_capacity(owns.len());
        for (own, paged) in owns.iter().zip(&paged) {
            let (tasks, merge) = if let Some(paged) = paged {
                paged.prepare().await?
            } else {
                let prepared = self.prepare(own, &Payload::Template, &[]).await?;
                (prepared.tasks, prepared.merge)
            };
            parts.push((tasks.len(), merge));
            chains.extend((0..tasks.len()).map(|number| (paged.as_ref(), number)));
            all.extend(tasks);
        }
        self.count_requests(all.len())?;
        let places = places(&all);
        let mut sent = 0;
        let sending =
            all.iter_mut().zip(&places).zip(chains).filter_map(|((task, place), chain)| {
                let is_new = matches!(place, Ok(place) if *place == sent);
                let request = task.as_mut().ok().filter(|_| is_new)?;
                sent += 1;
                let (paged, number) = chain;
                Some(Box::pin(async move {
                    match paged {
                        Some(paged) => paged.chain(request, number, paged.pages).await,
                        None => self.send(request).await,
                    }
                }))
            });
        let answers = join_all(sending).await;
        let mut answers = places.into_iter().map(|place| answers[place?].clone());
        let mut result = Vec::with_capacity(parts.len());
        for (count, merge) in parts {
            let rows = answers.by_ref().take(count).collect::<Result<Vec<_>, _>>()?;
            result.push(gather_rows(rows, width, merge));
        }
        Ok(result)
    }
}

impl Paged<'_, '_> {
    /// The requests for the first pages, and how their answers become one.
    async fn prepare(&self) -> Result<(Vec<Task>, Merge), RunError> {
        let first = match &self.pages.paging.manner {
            PagingManner::Page { first, .. } => Some(Value::from(*first)),
            PagingManner::Offset { .. } => Some(Value::from(0_u64)),
            PagingManner::Cursor { .. } | PagingManner::Link => None,
        };
        let own = self.own_of(first);
        let prepared = self.call.prepare(&own, &Payload::Template, &[]).await?;
        Ok((prepared.tasks, prepared.merge))
    }

    /// The rows of all requests of the statement.
    pub(super) async fn answers(&self) -> Result<(Vec<Relation>, Merge), RunError> {
        let (tasks, merge) = self.prepare().await?;
        if tasks.is_empty() {
            return Ok((Vec::new(), merge));
        }
        self.call.count_requests(tasks.len())?;
        let answers = self.send_all(tasks, merge).await;
        Ok((self.call.received_rows(answers)?, merge))
    }

    /// The answers of these requests, in their order, each with the rows of all its pages. Equal safe requests
    /// share theirs.
    async fn send_all(
        &self,
        mut tasks: Vec<Task>,
        merge: Merge,
    ) -> Vec<Result<Relation, RunError>> {
        // What is cut of blocks are blocks.
        let wanted = self.pages.wanted.filter(|_| merge != Merge::Blocks);
        let pages = Pages { wanted, ..self.pages };
        let places = places(&tasks);
        let mut sent = 0;
        let chains =
            tasks.iter_mut().zip(&places).enumerate().filter_map(|(number, (task, place))| {
                let is_new = matches!(place, Ok(place) if *place == sent);
                let request = task.as_mut().ok().filter(|_| is_new)?;
                sent += 1;
                Some(Box::pin(self.chain(request, number, pages)))
            });
        let answers = join_all(chains).await;
        places.into_iter().map(|place| answers[place?].clone()).collect()
    }

    /// The rows of all pages that begin with this request, the one with a number among those of the statement.
    async fn chain(
        &self,
        first: &mut Prepared,
        number: usize,
        pages: Pages<'_>,
    ) -> Result<Relation, RunError> {
        let call = self.call;
        let mut course = Course::new(pages);
        let mut rows = PageRows::new(call);
        let mut like = matches!(pages.paging.manner, PagingManner::Link).then(|| Like::of(first));
        let origin = like.as_ref().map(|like| like.uri.clone()).unwrap_or_default();
        course.visit(origin.clone()).map_err(|stray| self.refuse(&stray))?;
        let mut page = call.page(first, true).await?;
        loop {
            let Page { relation, says, uri } = page;
            let mut count = rows.add(relation).await?;
            course.take(count);
            let mut step = course.next(count, says).map_err(|stray| self.refuse(&stray))?;
            let next = loop {
                match step {
                    Step::Done => break None,
                    Step::Cursor(cursor) => {
                        call.count_requests(1)?;
                        break Some(self.request(number, cursor).await?);
                    }
                    Step::Link(reference) => {
                        let Some(like) = &mut like else { break None };
                        let link = self.follow(&origin, &uri, &reference)?;
                        course.visit(link.uri.clone()).map_err(|stray| self.refuse(&stray))?;
                        call.count_requests(1)?;
                        break Some(like.request(call, link.uri, link.is_abroad));
                    }
                    Step::Numbers(numbers) => {
                        call.count_requests(numbers.len())?;
                        let usage;
                        (count, usage) =
                            self.numbered(number, numbers, &mut rows, &mut course).await?;
                        if usage == Use::Done {
                            break None;
                        }
                    }
                }
                step = course
                    .next(count, course::Says::default())
                    .map_err(|stray| self.refuse(&stray))?;
            };
            let Some(mut next) = next else { break };
            page = call.page(&mut next, false).await?;
        }
        self.warn(&course);
        Ok(rows.into_relation())
    }

    /// Pages by their numbers, all asked for at once and taken in their order; those that turn out to be of no
    /// use are dropped, under way or not. Gives the rows of the last one taken.
    async fn numbered(
        &self,
        number: usize,
        numbers: Vec<u64>,
        rows: &mut PageRows<'_>,
        course: &mut Course<'_>,
    ) -> Result<(u64, Use), RunError> {
        let mut requests = Vec::with_capacity(numbers.len());
        for page in numbers {
            requests.push(self.request(number, Value::from(page)).await?);
        }
        let sending = requests.iter_mut().map(|request| Box::pin(self.call.page(request, false)));
        let mut pages: FuturesOrdered<_> = sending.collect();
        let (mut count, mut usage) = (0, Use::GoOn);
        while let Some(page) = pages.next().await {
            count = rows.add(page?.relation).await?;
            course.take(count);
            usage = course.is_used(count);
            if usage != Use::GoOn {
                break;
            }
        }
        Ok((count, usage))
    }

    /// The request for a page, of those that the statement makes the one with this number.
    async fn request(&self, number: usize, page: Value) -> Result<Prepared, RunError> {
        let own = self.own_of(Some(page));
        let prepared = self.call.prepare(&own, &Payload::Template, &[]).await?;
        let task = prepared.tasks.into_iter().nth(number);
        // A hook has made fewer requests of the next page than of the first.
        task.unwrap_or_else(|| Err(self.bad_page("there is no request for the next page")))
    }

    /// The values of the statement with one that says which page is meant.
    fn own_of(&self, page: Option<Value>) -> Own {
        let mut own = self.own.clone();
        if let (Some(parameter), Some(page)) = (self.pages.paging.parameter(), page) {
            own.push((parameter.clone(), page));
        }
        own
    }

    /// Where a link leads, if it may be followed.
    fn follow(
        &self,
        origin: &str,
        uri: &str,
        reference: &str,
    ) -> Result<crate::transport::Link, RunError> {
        let call = self.call;
        let link = call.run.engine.transport().follow_link(origin, uri, reference, &call.guard());
        let fault = match link {
            Ok(link) if link.is_abroad && call.verb.oauth2.is_some() => {
                "leads to another origin, which must not see the token of the table".to_owned()
            }
            Ok(link) => return Ok(link),
            Err(LinkFault::Unusable) => "is no address that can be requested".to_owned(),
            Err(LinkFault::Downgrade) => "leads from `https` to `http`".to_owned(),
            Err(LinkFault::Abroad { host }) => format!(
                "leads to `{host}`, which is not the host of the table; list it in `egress.allow` if \
                 the upstream may lead there"
            ),
        };
        Err(self
            .bad_page(&format!("the link to the next page {fault}"))
            .with(Fact::Uri(shown_uri(uri))))
    }

    fn bad_page(&self, message: &str) -> RunError {
        let table = &self.call.table.name;
        RunError::upstream(codes::BAD_PAGE, format!("table {table}: {message}"))
    }

    /// The error that a stray page is.
    fn refuse(&self, stray: &Stray) -> RunError {
        let (table, paging) = (&self.call.table.name, self.pages.paging);
        let path =
            |steps: &[Text]| steps.iter().map(|step| &**step).collect::<Vec<&str>>().join(".");
        match stray {
            Stray::Cursor(kind) => {
                let path = match &paging.manner {
                    PagingManner::Cursor { path: steps, .. } => path(steps),
                    _ => String::new(),
                };
                self.bad_page(&format!(
                    "`{path}` of a page is {kind}; what asks for the next page is a text or a number"
                ))
            }
            Stray::Total(found) => {
                let path = paging.total.as_deref().map(path).unwrap_or_default();
                self.bad_page(&format!(
                    "`{path}` of a page is {found}; the number of all rows is a whole number from 0 on"
                ))
            }
            Stray::Repeated => RunError::upstream(
                codes::REPEATED_PAGE,
                format!("table {table}: a page leads to one that was there before"),
            ),
            Stray::TooMany(asked) => self.too_many(*asked),
        }
    }

    fn too_many(&self, asked: Option<u64>) -> RunError {
        let (table, most) = (&self.call.table.name, self.pages.most);
        let source = match self.pages.paging.pages_max {
            Some(most) => format!("`up to {most} pages` of the table"),
            None => format!("the setting maxPages = {most}"),
        };
        let count = match asked {
            Some(asked) => format!("{asked} pages of rows"),
            None => "more pages of rows".to_owned(),
        };
        let message = format!(
            "table {table} has {count}, and {source} allows {most}; say `limit`, ask for less, or \
             raise it"
        );
        let error = RunError::client(codes::TOO_MANY_PAGES, message).with(Fact::Limit(most));
        match asked {
            Some(asked) => error.with(Fact::Asked(asked)),
            None => error,
        }
    }

    /// Tells of pages that contradict each other.
    fn warn(&self, course: &Course<'_>) {
        let (run, table) = (self.call.run, &self.call.table.name);
        if let Some((told, found)) = course.missed_total() {
            run.warn(format!("table {table}: a page tells of {told} rows, and there were {found}"));
        }
        if course.ended_by_empty_page {
            let what = "a page without rows leads to another one, which was not asked for";
            run.warn(format!("table {table}: {what}"));
        }
    }
}

impl Like {
    fn of(request: &Prepared) -> Self {
        let exchange = &request.exchange;
        Self {
            method: exchange.method.clone(),
            uri: exchange.uri.clone(),
            headers: exchange.headers.clone(),
            body: exchange.body.clone(),
            hooks: request.hooks.clone(),
            is_abroad: false,
        }
    }

    /// The same request to another address.
    fn request(&mut self, call: &Call<'_>, uri: String, is_abroad: bool) -> Prepared {
        if is_abroad && !self.is_abroad {
            strip_credentials(self.headers.make_mut());
            self.is_abroad = true;
        }
        // What a hook makes a key of is not the address of the page.
        let has_key = self.hooks.as_ref().is_some_and(|hooks| hooks.has(Hook::ComputeKey));
        let cache_key =
            if has_key { None } else { call.cache_key_of(&uri, &self.headers, &self.body) };
        let exchange =
            call.exchange_of(self.method.clone(), uri, self.headers.clone(), self.body.clone());
        Prepared { exchange, hooks: self.hooks.clone(), cache_key }
    }
}
