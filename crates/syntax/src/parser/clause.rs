//! The clauses of an `on …` block: any order, each at most once (TAB-3, GRM-8).

use super::{Outcome, Parser, expect};
use crate::{
    ast::{
        BodyTemplate, ColumnParameter, ColumnTest, Count, Expected, FormatClause, FormatOption,
        Oauth2Clause, RawText, Verb,
    },
    diagnostic::{Diagnostic, codes},
    source::Span,
};

/// The options of `using format`, in the order people write them.
const FORMAT_OPTIONS: &[&str] =
    &["message", "from", "root", "error", "mapping", "names", "defaults"];

/// The options of `using request format`.
const REQUEST_FORMAT_OPTIONS: &[&str] = &["message", "from", "root"];

/// The options of `using oauth2`; the first three are mandatory.
const OAUTH2_OPTIONS: &[&str] = &["client", "secret", "token", "scope"];
const OAUTH2_REQUIRED: &[&str] = &["client", "secret", "token"];

/// The clauses that were read, by their names.
type Seen = Vec<(&'static str, Span)>;

impl Parser<'_> {
    /// Reads clauses into `verb` until something else comes.
    pub(super) fn clauses(&mut self, verb: &mut Verb) -> Outcome<()> {
        let mut seen = Seen::new();
        loop {
            let start = self.start();
            self.offer(&["paginate"]);
            if self.accept_clause("with").is_some() {
                if self.one_of(&["aliases", "columns"])?.0 == 0 {
                    self.once(&mut seen, "with aliases", start)?;
                    verb.aliases = self.name_values()?;
                } else {
                    self.once(&mut seen, "with columns", start)?;
                    verb.columns = self.column_parameters()?;
                }
            } else if self.accept_clause("using").is_some() {
                self.using(verb, &mut seen, start)?;
            } else if self.accept_clause("expect").is_some() {
                self.once(&mut seen, "expect", start)?;
                self.expect_clause(verb, start)?;
            } else if self.accept_clause("authenticate").is_some()
                || self.accept_clause("auth").is_some()
            {
                self.once(&mut seen, "auth using", start)?;
                self.require_word("using")?;
                verb.auth = Some(self.raw_text()?);
            } else if self.accept_clause("resultset").is_some() {
                self.once(&mut seen, "resultset", start)?;
                verb.resultset = Some(self.raw_text()?);
            } else if self.accept_clause("expires").is_some() {
                self.once(&mut seen, "expires", start)?;
                verb.expires = Some(self.count()?);
            } else if self.accept_clause("paging").is_some() {
                self.once(&mut seen, "paging upstream", start)?;
                self.require_word("upstream")?;
                verb.is_paged_upstream = true;
            } else if self.is_pair("paginate", "by") {
                self.once(&mut seen, "paginate by", start)?;
                verb.paging = Some(self.paging_clause(start)?);
            } else if self.accept_clause("no").is_some() {
                self.once(&mut seen, "no retry", start)?;
                self.require_word("retry")?;
                verb.is_retry_off = true;
            } else if self.is_clause("pass") && !self.lexer.rest_after_word().starts_with('(') {
                self.require_word("pass")?;
                self.require_word("status")?;
                self.once(&mut seen, "pass status", start)?;
                verb.passed_statuses = self.statuses()?;
            } else {
                return Ok(());
            }
        }
    }

    /// `Path test QStr { ',' Path test QStr }`.
    fn column_parameters(&mut self) -> Outcome<Vec<ColumnParameter>> {
        let mut columns = vec![self.column_parameter()?];
        while self.accept(",").is_some() {
            columns.push(self.column_parameter()?);
        }
        Ok(columns)
    }

    fn column_parameter(&mut self) -> Outcome<ColumnParameter> {
        let path = self.path()?;
        let is_next = |test: &ColumnTest| match test {
            ColumnTest::Like => self.lexer.peek_word() == test.symbol(),
            _ => self.lexer.rest().starts_with(test.symbol()),
        };
        let Some(test) = ColumnTest::ALL.into_iter().find(is_next) else {
            for test in ColumnTest::ALL {
                self.expect(expect::Expected::Literal(test.symbol()));
            }
            return self.fail();
        };
        self.lexer.take(test.symbol().len());
        let parameter = self.raw_text()?;
        Ok(ColumnParameter { path, test, parameter })
    }

    /// `Digits { ',' Digits }`.
    fn statuses(&mut self) -> Outcome<Vec<Count>> {
        let mut statuses = vec![self.count()?];
        while self.accept(",").is_some() {
            statuses.push(self.count()?);
        }
        Ok(statuses)
    }

    /// The clauses that start with `using`.
    fn using(&mut self, verb: &mut Verb, seen: &mut Seen, start: u32) -> Outcome<()> {
        let words = [
            "headers",
            "defaults",
            "patch",
            "bodyTemplate",
            "format",
            "request",
            "xml",
            "transformer",
            "oauth2",
        ];
        let (index, span) = self.one_of(&words)?;
        match words[index] {
            "headers" => {
                self.once(seen, "using headers", start)?;
                verb.headers = self.name_values()?;
            }
            "defaults" => {
                self.once(seen, "using defaults", start)?;
                verb.defaults = self.name_values()?;
            }
            "patch" => {
                self.once(seen, "using patch", start)?;
                verb.patch = Some(self.raw_text()?);
            }
            "bodyTemplate" => {
                self.once(seen, "using bodyTemplate", start)?;
                verb.body = Some(self.body_template()?);
            }
            "format" => {
                self.once(seen, "using format", start)?;
                verb.format = Some(self.format_clause(FORMAT_OPTIONS, start)?);
            }
            "request" => {
                self.once(seen, "using request format", start)?;
                self.require_word("format")?;
                verb.request_format = Some(self.format_clause(REQUEST_FORMAT_OPTIONS, start)?);
            }
            "xml" => self.xml(verb, seen, start)?,
            "transformer" => {
                self.once(seen, "using transformer", start)?;
                verb.transformer = Some(self.raw_text()?);
            }
            _ => {
                self.once(seen, "using oauth2", start)?;
                verb.oauth2 = Some(self.oauth2(span, start)?);
            }
        }
        Ok(())
    }

    /// `xml coerce 'safe'` or `xml arrays 'a.b', …`.
    fn xml(&mut self, verb: &mut Verb, seen: &mut Seen, start: u32) -> Outcome<()> {
        let (index, _) = self.one_of(&["coerce", "arrays"])?;
        if index == 0 {
            self.once(seen, "using xml coerce", start)?;
            verb.xml_coerce = Some(self.raw_text()?);
        } else {
            self.once(seen, "using xml arrays", start)?;
            verb.xml_arrays = self.raw_texts()?;
        }
        Ok(())
    }

    /// Refuses a clause that was there before.
    fn once(&mut self, seen: &mut Seen, clause: &'static str, start: u32) -> Outcome<()> {
        let span = self.since(start);
        if let Some((_, first)) = seen.iter().find(|(name, _)| *name == clause) {
            let message = format!("`{clause}` stands twice");
            let diagnostic = Diagnostic::error(codes::REPEATED_CLAUSE, span, message)
                .label(*first, "first here");
            return self.report(diagnostic);
        }
        seen.push((clause, span));
        Ok(())
    }

    /// `'expect' [ '^' ] Word { ',' [ '^' ] Word }`, only with `do … at`.
    fn expect_clause(&mut self, verb: &mut Verb, start: u32) -> Outcome<()> {
        loop {
            let is_required = self.accept("^").is_some();
            let name = self.ident()?;
            verb.expect.push(Expected { name, is_required });
            if self.accept(",").is_none() {
                break;
            }
        }
        if verb.is_do {
            return Ok(());
        }
        let span = self.since(start);
        let hint = "name the method with `do … at`, or use URI tokens";
        self.error(codes::MISPLACED_CLAUSE, span, "`expect` belongs to `do … at`", hint)
    }

    /// `QStr 'type' QStr [ 'foreach' QStr ]`.
    fn body_template(&mut self) -> Outcome<BodyTemplate> {
        let template = self.raw_text()?;
        self.require_word("type")?;
        let media_type = self.raw_text()?;
        let foreach = match self.accept_clause("foreach") {
            Some(_) => Some(self.raw_text()?),
            None => None,
        };
        Ok(BodyTemplate { template, media_type, foreach })
    }

    fn format_clause(&mut self, allowed: &[&'static str], start: u32) -> Outcome<FormatClause> {
        let format = self.raw_text()?;
        let options = self.options(allowed)?;
        Ok(FormatClause { format, options, span: self.since(start) })
    }

    /// `client QStr secret QStr token QStr [ scope QStr ]`, in any order.
    fn oauth2(&mut self, keyword: Span, start: u32) -> Outcome<Oauth2Clause> {
        let options = self.options(OAUTH2_OPTIONS)?;
        for required in OAUTH2_REQUIRED {
            if !options.iter().any(|option| option.name.text == *required) {
                let message = format!("`using oauth2` needs `{required}`");
                let hint = "using oauth2 client 'id' secret 'text' token 'uri'";
                return self.error(codes::UNEXPECTED_TOKEN, keyword, message, hint);
            }
        }
        Ok(Oauth2Clause { options, span: self.since(start) })
    }

    /// `{ keyword QStr }`; the value of `defaults` is the word `on` or `off`.
    fn options(&mut self, allowed: &[&'static str]) -> Outcome<Vec<FormatOption>> {
        let mut options: Vec<FormatOption> = Vec::new();
        'next: loop {
            for keyword in allowed {
                if !self.is_clause(keyword) {
                    continue;
                }
                let name = self.ident()?;
                let value = if *keyword == "defaults" {
                    let (index, span) = self.one_of(&["on", "off"])?;
                    RawText { text: ["on", "off"][index].to_owned(), span }
                } else {
                    self.raw_text()?
                };
                if let Some(first) = options.iter().find(|option| option.name.text == name.text) {
                    let message = format!("`{}` stands twice", name.text);
                    let first = first.name.span;
                    let diagnostic = Diagnostic::error(codes::REPEATED_CLAUSE, name.span, message)
                        .label(first, "first here");
                    return self.report(diagnostic);
                }
                options.push(FormatOption { name, value });
                continue 'next;
            }
            return Ok(options);
        }
    }
}
