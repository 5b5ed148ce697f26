//! In which order the sources of a select are read, and by what their rows meet (JOI-15, JOI-18, JOI-22).
//!
//! The order follows from what must be known before a table can be asked, and from nothing that would need
//! statistics: of the sources that can be read, first those that something joins with what is there, else the
//! first of the text.

use qlio_syntax::{
    ast::{self, VerbKind},
    diagnostic::{Diagnostic, codes},
    source::Span,
};

use super::{
    Lowering,
    condition::strip_alias,
    joins::Draft,
    path_text,
    program::{Compiler, RowColumns},
    scope::Matches,
    table_of,
    terms::Term,
};
use crate::operator::{Binding, Equality, Placement, Program, Reading};

impl Lowering<'_> {
    /// The order of the sources and how each is read; and the terms that test the rows at last.
    pub(super) fn place(
        &mut self,
        drafts: &[Draft<'_>],
        terms: &mut [Term],
    ) -> (Vec<Placement>, Vec<usize>) {
        let mut placements = Vec::with_capacity(drafts.len());
        let mut placed = vec![false; drafts.len()];
        while let Some(segment) = next_segment(drafts, &placed) {
            let next = self.next_source(drafts, terms, &placed, &segment);
            if next.is_none() {
                self.report_dead_end(drafts, terms, &placed, &segment);
            }
            let source = next.unwrap_or(segment[0]);
            let is_first = !placed.contains(&true);
            let (reading, needs) = self.reading(source, drafts, terms, &placed);
            let place_of =
                |of: &usize| placements.iter().position(|it: &Placement| it.source == *of);
            let asked_behind = needs.iter().filter_map(place_of).map(|place| place + 1).max();
            let keys = self.keys(source, drafts, terms, &placed);
            placed[source] = true;
            let is_left = drafts[source].is_left();
            let mut own = Vec::new();
            let mut behind = Vec::new();
            let mut may_fail = false;
            for (position, term) in terms.iter_mut().enumerate() {
                let is_ready = term.sources.iter().all(|source| placed[*source]);
                let is_of_other = term.of_left.is_some_and(|left| left != source);
                if term.is_done || term.has_select || is_of_other {
                    continue;
                }
                if term.of_left.is_none() && (!is_ready || (may_fail && can_fail(&term.condition)))
                {
                    // What stands before may keep it from failing.
                    may_fail |= !is_ready;
                    continue;
                }
                term.is_done = true;
                if term.of_left.is_some() || !is_left {
                    own.push(position);
                } else {
                    behind.push(position);
                }
            }
            let joins = !keys.is_empty()
                || !own.is_empty()
                || !matches!(reading, Reading::Whole)
                || terms
                    .iter()
                    .any(|term| term.sources.contains(&source) && term.sources.len() > 1);
            if !is_first && !joins {
                self.warn_cross_product(&drafts[source]);
            }
            let test = self.test_of(&own, terms);
            let filter = self.test_of(&behind, terms);
            placements.push(Placement {
                source,
                is_left,
                reading,
                asked_behind: asked_behind.unwrap_or(0),
                keys,
                test,
                filter,
            });
        }
        let rest = (0..terms.len()).filter(|position| !terms[*position].is_done).collect();
        (placements, rest)
    }

    fn test_of(&mut self, positions: &[usize], terms: &[Term]) -> Option<Program> {
        if positions.is_empty() {
            return None;
        }
        let tests: Vec<&Term> = positions.iter().map(|position| &terms[*position]).collect();
        Some(self.scoped(|compiler| compiler.all_terms(&tests)))
    }

    /// Compiles something of the innermost select; what is the same for all rows is kept for its steps.
    pub(super) fn scoped<T>(
        &mut self,
        compile: impl FnOnce(&mut Compiler<'_, '_, '_, '_>) -> T,
    ) -> T {
        let mut compiler = Compiler::new(self, RowColumns::Scoped);
        let compiled = compile(&mut compiler);
        let givens = compiler.givens;
        self.scope().givens = givens;
        compiled
    }

    /// The parameters that rows give a table, or the list that it is; and the sources of their values.
    fn reading(
        &mut self,
        source: usize,
        drafts: &[Draft<'_>],
        terms: &mut [Term],
        placed: &[bool],
    ) -> (Reading, Vec<usize>) {
        let draft = &drafts[source];
        if let Some(path) = &draft.list {
            let (side, column) = self.scoped_column(path, Matches::Value);
            return (Reading::Elements { side, column }, Vec::new());
        }
        if !draft.is_table {
            return (Reading::Whole, Vec::new());
        }
        let mut bindings = Vec::new();
        let mut needs = Vec::new();
        for term in terms.iter_mut().filter(|term| is_of(term, source, drafts)) {
            let Some((own, other)) = key_sides(term, source, placed) else { continue };
            let Some(equality) = term.equality.as_ref().filter(|it| it.asks) else { continue };
            let Some(path) = equality.sides[own].column_of(source) else { continue };
            let name = path_text(&strip_alias(path, draft.alias()));
            let Some(offer) = self.offer(draft, &name) else { continue };
            // Of several values of one parameter the others are compared.
            if bindings.iter().any(|binding: &Binding| *binding.parameter == *offer.parameter) {
                continue;
            }
            if offer.is_batch && !offer.is_declared {
                self.report_undeclared_key(draft, &offer.parameter, path.span);
            }
            let value = self.scoped(|compiler| compiler.program(&equality.sides[other].value));
            needs.extend_from_slice(&equality.sides[other].sources);
            // Only what is declared is tested again.
            term.is_answered = !offer.is_declared;
            let parameter = offer.parameter.as_str().into();
            bindings.push(Binding { parameter, value, is_declared: offer.is_declared });
        }
        let reading = if bindings.is_empty() { Reading::Whole } else { Reading::Asked(bindings) };
        (reading, needs)
    }

    /// What must be equal for a row of a source to be a partner.
    fn keys(
        &mut self,
        source: usize,
        drafts: &[Draft<'_>],
        terms: &mut [Term],
        placed: &[bool],
    ) -> Vec<Equality> {
        let mut keys = Vec::new();
        if drafts[source].list.is_some() {
            return keys;
        }
        for term in terms.iter_mut() {
            if term.is_done || !is_of(term, source, drafts) {
                continue;
            }
            let Some((own, other)) = key_sides(term, source, placed) else { continue };
            let Some(equality) = &term.equality else { continue };
            let Some(path) = equality.sides[own].column_of(source) else { continue };
            let (_, column) = self.scoped_column(path, Matches::Key);
            let value = self.scoped(|compiler| compiler.program(&equality.sides[other].value));
            let is_answered = term.is_answered;
            keys.push(Equality { value, column, nulls: equality.nulls, is_answered });
            term.is_done = true;
        }
        keys
    }

    /// The next source of those that may come now, or nothing if each waits for another one.
    fn next_source(
        &mut self,
        drafts: &[Draft<'_>],
        terms: &[Term],
        placed: &[bool],
        segment: &[usize],
    ) -> Option<usize> {
        let mut best: Option<(u8, usize)> = None;
        for &source in segment {
            let draft = &drafts[source];
            let rank = if let Some(path) = &draft.list {
                let base = self.source_of(path);
                if base.is_some_and(|base| !placed[base]) {
                    continue;
                }
                0
            } else {
                let waits = self.waits(source, drafts, terms, placed);
                let is_joined = terms.iter().any(|term| {
                    is_of(term, source, drafts) && key_sides(term, source, placed).is_some()
                });
                match (waits, is_joined) {
                    (Waits::Must, _) => continue,
                    (Waits::May, _) => 4,
                    (Waits::No, true) => 1,
                    (Waits::No, false) if !draft.is_table => 2,
                    (Waits::No, false) => 3,
                }
            };
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, source));
            }
        }
        best.map(|(_, source)| source)
    }

    /// Whether a table gets a parameter from a source that is not there yet.
    fn waits(
        &mut self,
        source: usize,
        drafts: &[Draft<'_>],
        terms: &[Term],
        placed: &[bool],
    ) -> Waits {
        let draft = &drafts[source];
        if !draft.is_table {
            return Waits::No;
        }
        let bound = self.bound_parameters(source, drafts, terms, placed);
        let mut waits = Waits::No;
        for term in terms {
            let Some(equality) = term.equality.as_ref().filter(|it| it.asks && !term.is_done)
            else {
                continue;
            };
            if !is_of(term, source, drafts) {
                continue;
            }
            for own in 0..2 {
                let Some(path) = equality.sides[own].column_of(source) else { continue };
                let other = &equality.sides[1 - own].sources;
                if other.contains(&source) || other.iter().all(|other| placed[*other]) {
                    continue;
                }
                let name = path_text(&strip_alias(path, draft.alias()));
                match self.offer(draft, &name) {
                    Some(offer) if bound.contains(&offer.parameter) => {}
                    Some(offer) if offer.is_required => return Waits::Must,
                    Some(_) => waits = Waits::May,
                    None => {}
                }
            }
        }
        waits
    }

    /// The parameters that sources which are there give a table.
    fn bound_parameters(
        &mut self,
        source: usize,
        drafts: &[Draft<'_>],
        terms: &[Term],
        placed: &[bool],
    ) -> Vec<String> {
        let draft = &drafts[source];
        let mut bound = Vec::new();
        for term in terms.iter().filter(|term| is_of(term, source, drafts)) {
            let Some((own, _)) = key_sides(term, source, placed) else { continue };
            let Some(equality) = term.equality.as_ref().filter(|it| it.asks) else { continue };
            let Some(path) = equality.sides[own].column_of(source) else { continue };
            let name = path_text(&strip_alias(path, draft.alias()));
            bound.extend(self.offer(draft, &name).map(|offer| offer.parameter));
        }
        bound
    }

    /// The parameter that a column of a table gives, if its request has one.
    pub(super) fn offer(&mut self, draft: &Draft<'_>, name: &str) -> Option<Offer> {
        let table = table_of(&draft.source)?;
        let verb = table.verb(VerbKind::Select)?;
        let declared = verb
            .columns
            .iter()
            .find(|column| column.test == ast::ColumnTest::Equals && *column.column == *name);
        let parameter = declared.map_or(name, |column| &column.parameter);
        let token = verb.uri.tokens().iter().find(|token| token.name == parameter);
        let is_used = self.uses_parameter(&draft.written.name.text, parameter);
        let is_given = draft.conditions.iter().any(|condition| *condition.name == *parameter);
        (declared.is_some() || is_used).then(|| Offer {
            parameter: parameter.to_owned(),
            is_declared: declared.is_some(),
            is_required: !is_given && token.is_some_and(|token| token.is_required),
            is_batch: token.is_some_and(|token| token.is_multi),
        })
    }

    fn report_undeclared_key(&mut self, draft: &Draft<'_>, parameter: &str, span: Span) {
        let message = format!(
            "`{}` takes several values of `{parameter}` at once: which of its rows belong to which value?",
            draft.name()
        );
        let hint = format!(
            "let the table say which column tells them: `with columns id = '{parameter}'`, and join by `id`"
        );
        self.problems.push(Diagnostic::error(codes::UNDECLARED_KEY, span, message).hint(hint));
    }

    /// Reports that no source of some can be read: each needs a value of another one.
    fn report_dead_end(
        &mut self,
        drafts: &[Draft<'_>],
        terms: &[Term],
        placed: &[bool],
        segment: &[usize],
    ) {
        let mut notes = Vec::new();
        for &source in segment {
            let draft = &drafts[source];
            for term in terms {
                let Some(equality) = &term.equality else { continue };
                for own in 0..2 {
                    let Some(path) = equality.sides[own].column_of(source) else { continue };
                    let other = &equality.sides[1 - own].sources;
                    let Some(missing) = other.iter().find(|other| !placed[**other]) else {
                        continue;
                    };
                    let name = path_text(&strip_alias(path, draft.alias()));
                    let missing = drafts[*missing].name();
                    notes.push(format!(
                        "`{}` needs `{name}`, which would come from `{missing}`",
                        draft.name()
                    ));
                }
            }
        }
        let first = &drafts[segment[0]];
        let message =
            format!("`{}` can never be asked: what it needs comes from nowhere", first.name());
        let hint = "give one of these parameters a value: `where x.id = 7`, or use a table that lists its rows";
        let mut problem =
            Diagnostic::error(codes::DEAD_END, first.written.span, message).hint(hint);
        for note in notes {
            problem = problem.note(note);
        }
        self.problems.push(problem);
    }

    fn warn_cross_product(&mut self, draft: &Draft<'_>) {
        let message = format!("nothing joins `{}` with the other sources", draft.name());
        let warning = self.warning(codes::CROSS_PRODUCT, draft.written.span, message);
        if let Some(warning) = warning {
            let note = "each of its rows is put beside each row there is, up to `maxJoinRows`";
            self.problems.push(warning.note(note));
        }
    }
}

/// A parameter that a table takes.
pub(super) struct Offer {
    pub(super) parameter: String,
    /// The table says which column it decides.
    pub(super) is_declared: bool,
    /// There is no request without it.
    is_required: bool,
    /// It takes several values at once.
    is_batch: bool,
}

/// Whether a source has to wait for others.
enum Waits {
    No,
    /// It gets a parameter that it can do without.
    May,
    Must,
}

/// Whether a term may join a source: that of a left join is joined by its own `on` alone.
fn is_of(term: &Term, source: usize, drafts: &[Draft<'_>]) -> bool {
    let left = drafts[source].is_left().then_some(source);
    term.of_left == left
}

/// The sources that may come next: those before the next left join, or that one.
fn next_segment(drafts: &[Draft<'_>], placed: &[bool]) -> Option<Vec<usize>> {
    let mut segment = Vec::new();
    for (source, draft) in drafts.iter().enumerate() {
        if placed[source] {
            continue;
        }
        if draft.is_left() {
            if segment.is_empty() {
                segment.push(source);
            }
            break;
        }
        segment.push(source);
    }
    (!segment.is_empty()).then_some(segment)
}

/// Which side of an equality is a column of a source, and which one is known by then.
fn key_sides(term: &Term, source: usize, placed: &[bool]) -> Option<(usize, usize)> {
    let equality = term.equality.as_ref().filter(|_| !term.is_done)?;
    (0..2).find_map(|own| {
        let (side, other) = (&equality.sides[own], &equality.sides[1 - own]);
        let is_known = (other.is_around || !other.sources.is_empty())
            && other.sources.iter().all(|of| *of != source && placed[*of]);
        (side.column_of(source).is_some() && !side.is_around && is_known).then_some((own, 1 - own))
    })
}

/// Whether a test can meet a value that it cannot compute with.
fn can_fail(condition: &ast::Condition) -> bool {
    use ast::ExpressionKind as Kind;
    fn fails(expression: &ast::Expression) -> bool {
        let mut can = matches!(
            expression.kind,
            Kind::Chain { .. } | Kind::Negative(_) | Kind::Function { .. } | Kind::Like { .. }
        );
        expression.each_child(&mut |child| can |= fails(child));
        can
    }
    matches!(condition, ast::Condition::Test(test) if fails(test))
}
