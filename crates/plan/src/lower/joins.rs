//! Selects from any sources: what each is asked, and what is tested of their rows (JOI-14 to JOI-24).
//!
//! In which order they are read is decided in [`super::placing`].

use qlio_syntax::{
    ast::{self, Joint, VerbKind},
    diagnostic::{Diagnostic, codes},
};

use super::{
    Lowering,
    condition::delays,
    mentions::{self, is_list_of, name_path},
    program::{RowColumns, pushes},
    scope::{Matches, Part, Scope},
    select::{ScanBuilder, scan},
    table_of,
    terms::{Term, split, split_condition},
};
use crate::operator::{
    Condition, Delays, Joins, Operation, Placement, Pushed, PushedValue, Reading, RowArgument,
    ScanColumns, Select, Source, SourceKind,
};

/// A source while it is planned.
pub(super) struct Draft<'s> {
    pub(super) written: &'s ast::Source,
    pub(super) source: Source,
    /// The list in another source's rows that it is.
    pub(super) list: Option<ast::Path>,
    /// What is asked of it, and as it is written.
    pub(super) conditions: Vec<Condition>,
    asked: Vec<ast::Condition>,
    pub(super) is_table: bool,
}

impl Draft<'_> {
    pub(super) fn is_left(&self) -> bool {
        self.written.joint == Joint::Left
    }

    /// Whether conditions with values are given to whoever reads it.
    fn takes_conditions(&self) -> bool {
        self.list.is_none()
    }

    pub(super) fn name(&self) -> &str {
        let alias = self.written.alias.as_ref().map(|alias| alias.text.as_str());
        if self.written.name.text.is_empty() {
            alias.unwrap_or_default()
        } else {
            &self.written.name.text
        }
    }
}

impl Lowering<'_> {
    /// A select from several sources, or with selects inside of its expressions.
    pub(super) fn select_sources(&mut self, select: &ast::Select) -> Select {
        let mut drafts = self.drafts(select);
        let parts = drafts.iter().map(|draft| Part {
            alias: draft.written.alias.as_ref().map(|alias| alias.text.clone()),
            builder: ScanBuilder::default(),
            is_elements: draft.list.is_some(),
        });
        self.scopes.push(Scope { parts: parts.collect(), ..Scope::default() });
        let mut output = self.plain_output(select, Self::shown_column);
        output.is_flat = drafts.len() == 1 && output.columns.len() == 1 && !output.has_aliases;
        let mut row_calls = Vec::new();
        let mut terms = Vec::new();
        for condition in &select.conditions {
            match condition {
                ast::Condition::Call(call) => {
                    if self.scopes.len() > 1 {
                        self.refuse_row_function(call);
                    }
                    row_calls.push(self.row_call(call, |lowering, path| {
                        let (side, column) = lowering.scoped_column(path, Matches::Value);
                        RowArgument::Column { side, column }
                    }));
                }
                _ => {
                    for term in split_condition(condition) {
                        self.sort_term(&term, None, false, &mut drafts, &mut terms);
                    }
                }
            }
        }
        for (place, draft) in select.sources.iter().enumerate() {
            let Some(on) = &draft.on else { continue };
            let of_left = (draft.joint == Joint::Left).then_some(place);
            for condition in split(on) {
                self.sort_term(&condition, of_left, true, &mut drafts, &mut terms);
            }
        }
        let (placements, tests) = self.place(&drafts, &mut terms);
        let pushed = self.pushed_of_sources(&drafts, &terms, &placements);
        let tests: Vec<&ast::Condition> =
            tests.iter().map(|term| &terms[*term].condition).collect();
        let steps = self.steps(select, (&tests, &[]), RowColumns::Scoped, &mut output);
        self.finish_sources(select, drafts, (placements, pushed), output, row_calls, steps)
    }

    /// A function may replace rows, and then nobody knows for which row around they are.
    fn refuse_row_function(&mut self, call: &ast::Call) {
        let message = "a function of a module cannot be a condition of a select for each row";
        let hint = "bind the rows to a variable, and call the function there";
        let problem = Diagnostic::error(codes::MISPLACED_FUNCTION, call.span, message);
        self.problems.push(problem.hint(hint));
    }

    fn drafts<'s>(&mut self, select: &'s ast::Select) -> Vec<Draft<'s>> {
        let mut drafts: Vec<Draft<'s>> = Vec::with_capacity(select.sources.len());
        for (place, written) in select.sources.iter().enumerate() {
            let name = &written.name;
            let before = &select.sources[..place];
            let path = name_path(name);
            let names_list = written.select.is_none()
                && (before.iter().any(|base| is_list_of(written, base))
                    || (path.segments.len() > 1 && self.is_visible(&path)));
            let is_list = names_list && !self.has_table(&name.text);
            if names_list && !is_list {
                let message =
                    format!("`{}` is the table of that name, not a list in the rows", name.text);
                if let Some(warning) = self.warning(codes::HIDDEN_LIST, name.span, message) {
                    self.problems.push(warning.hint("give the source before it another alias"));
                }
            }
            let alias = written.alias.as_ref().map(|alias| alias.text.as_str().into());
            let source = match &written.select {
                Some(inner) => {
                    let aliases = self.aliases();
                    let aliases: Vec<&str> = aliases.iter().map(String::as_str).collect();
                    if mentions::names_one_of(inner, &aliases) {
                        let message = "a select among the sources sees no rows around it";
                        let hint = "test its rows in the `where` of the select that it belongs to";
                        let problem =
                            Diagnostic::error(codes::MISPLACED_SELECT, name.span, message);
                        self.problems.push(problem.hint(hint));
                    }
                    let kind = SourceKind::Select(self.apart(inner).into());
                    Source { name: alias.clone().unwrap_or_default(), alias, kind }
                }
                None if is_list => {
                    Source { name: name.text.as_str().into(), alias, kind: SourceKind::Elements }
                }
                None => self.source(written),
            };
            let is_table = matches!(
                source.kind,
                SourceKind::Inline(_) | SourceKind::Conditional { .. } | SourceKind::Loaded(_)
            );
            drafts.push(Draft {
                written,
                source,
                list: is_list.then_some(path),
                conditions: Vec::new(),
                asked: Vec::new(),
                is_table,
            });
        }
        drafts
    }

    /// What tests of one source alone make its table ask for, beside what conditions and rows give it; of a left
    /// join only those that its `on` makes. All of them are made again on the rows that come.
    fn pushed_of_sources(
        &mut self,
        drafts: &[Draft<'_>],
        terms: &[Term],
        placements: &[Placement],
    ) -> Vec<(usize, Pushed)> {
        let mut found = Vec::new();
        for placement in placements {
            let source = placement.source;
            let draft = &drafts[source];
            let Some(table) = table_of(&draft.source) else { continue };
            let verb = table.verb(VerbKind::Select).filter(|verb| !verb.columns.is_empty());
            let Some(verb) = verb else { continue };
            let of_left = draft.is_left().then_some(source);
            let tests: Vec<&ast::Condition> = terms
                .iter()
                .filter(|term| {
                    term.sources == [source] && term.of_left == of_left && !term.has_select
                })
                .map(|term| &term.condition)
                .filter(|condition| matches!(condition, ast::Condition::Test(_)))
                .collect();
            let pushes = pushes(&tests, &verb.columns, draft.alias());
            let pushed = self.scoped(|compiler| compiler.pushed(&pushes));
            let bindings = match &placement.reading {
                Reading::Asked(bindings) => bindings.as_slice(),
                _ => &[],
            };
            // Of several values each could be a request, and nobody would have bounded them.
            let is_one = |it: &Pushed| match &it.value {
                PushedValue::Condition(_) => false,
                PushedValue::Program(program) => {
                    !matches!(program.operations.last(), Some(Operation::List(_)))
                }
            };
            let is_free = |it: &Pushed| {
                is_one(it)
                    && !draft.conditions.iter().any(|condition| condition.name == it.parameter)
                    && !bindings.iter().any(|binding| binding.parameter == it.parameter)
            };
            found.extend(pushed.into_iter().filter(is_free).map(|pushed| (source, pushed)));
        }
        found
    }

    /// Gives a condition to the source that it asks something of, or makes it a term that joins or tests.
    fn sort_term(
        &mut self,
        condition: &ast::Condition,
        of_left: Option<usize>,
        is_on: bool,
        drafts: &mut [Draft<'_>],
        terms: &mut Vec<Term>,
    ) {
        let term = self.term(condition, is_on, of_left);
        let is_asking = match condition {
            ast::Condition::Equals { .. } => term.equality.is_none(),
            ast::Condition::InList { .. } => true,
            ast::Condition::InSelect { select, .. } => {
                let aliases = self.aliases();
                let aliases: Vec<&str> = aliases.iter().map(String::as_str).collect();
                !mentions::names_one_of(select, &aliases)
            }
            ast::Condition::Call(_) | ast::Condition::Test(_) => false,
        };
        let asked = condition.path().filter(|_| is_asking).and_then(|path| self.source_of(path));
        if let Some(place) = asked
            && drafts[place].takes_conditions()
            && drafts[place].is_left() == (of_left == Some(place))
            && (of_left.is_none() || of_left == Some(place))
        {
            let scopes = std::mem::take(&mut self.scopes);
            let mut lowered = self.condition(condition, drafts[place].written);
            self.scopes = scopes;
            let offer = match &lowered {
                Some(condition) => self.offer(&drafts[place], &condition.name),
                None => None,
            };
            let is_declared = offer.as_ref().is_some_and(|offer| offer.is_declared);
            if let (true, Some(lowered), Some(offer)) = (is_declared, &mut lowered, offer) {
                lowered.name = offer.parameter.into();
            }
            drafts[place].conditions.extend(lowered);
            if !is_declared {
                drafts[place].asked.push(condition.clone());
                return;
            }
            // Rows are tested again on columns that the table declares.
        }
        if is_on && term.has_select {
            let message = "a select inside of `on` is not possible";
            let hint = "test the joined rows in `where`";
            let problem = Diagnostic::error(codes::MISPLACED_SELECT, condition.span(), message);
            self.problems.push(problem.hint(hint));
            return;
        }
        terms.push(term);
    }

    fn finish_sources(
        &mut self,
        select: &ast::Select,
        drafts: Vec<Draft<'_>>,
        (placements, pushed): (Vec<Placement>, Vec<(usize, Pushed)>),
        output: crate::operator::Output,
        row_calls: Vec<crate::operator::RowCall>,
        steps: crate::operator::Steps,
    ) -> Select {
        let scope = self.scopes.pop().expect("the scope of this select");
        let delays: Delays = delays(&select.delays);
        let bound: Vec<Vec<String>> = drafts
            .iter()
            .enumerate()
            .map(|(place, _)| {
                let of = placements.iter().filter(|placement| placement.source == place);
                let asked = of.filter_map(|placement| match &placement.reading {
                    Reading::Asked(bindings) => Some(bindings),
                    _ => None,
                });
                let asked = asked.flatten().map(|binding| binding.parameter.to_string());
                let pushed = pushed.iter().filter(|(of, _)| *of == place);
                asked.chain(pushed.map(|(_, it)| it.parameter.to_string())).collect()
            })
            .collect();
        let tables = drafts.iter().filter(|draft| draft.is_table);
        let tables: Vec<_> = tables.map(|draft| draft.written).collect();
        self.warn_tested_parameters(select, &tables);
        let mut scans = Vec::with_capacity(drafts.len());
        for ((draft, part), bound) in drafts.into_iter().zip(scope.parts).zip(bound) {
            let mut builder = part.builder;
            // Rows without a column could not be counted.
            if builder.columns.is_empty() {
                builder.row();
            }
            if draft.is_table {
                let own = draft.conditions.iter().map(|condition| &*condition.name);
                let own: Vec<&str> = own.chain(bound.iter().map(String::as_str)).collect();
                self.warn_unused_parameters(draft.asked.iter(), draft.written, VerbKind::Select);
                self.warn_unfilled_tokens(
                    &draft.source,
                    &draft.written.name,
                    VerbKind::Select,
                    &own,
                );
            }
            let columns = ScanColumns::List(builder.columns);
            scans.push(scan(draft.source, columns, draft.conditions, delays));
        }
        let mut scans = scans.into_iter();
        let first = scans.next().expect("the parser demands a source");
        let is_in_order = placements.iter().enumerate().all(|(place, it)| it.source == place);
        let nested = scope.nested.into_iter().map(|(nested, _)| nested).collect();
        let joins = Joins {
            scans: scans.collect(),
            around: scope.around,
            placements,
            is_in_order,
            pushed,
            nested,
        };
        Select {
            scan: first,
            join: None,
            joins: Some(Box::new(joins)),
            output,
            row_calls,
            steps: Some(Box::new(steps)),
            limit: None,
            offset: None,
            line: self.lines.line(select.span.start),
            assign: None,
        }
    }
}

impl Draft<'_> {
    pub(super) fn alias(&self) -> Option<&str> {
        self.written.alias.as_ref().map(|alias| alias.text.as_str())
    }
}
