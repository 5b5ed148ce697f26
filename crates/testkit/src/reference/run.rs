//! The order of a run: a statement runs what it needs first, and then itself.

use std::collections::VecDeque;

use qlio_data::{Object, Value, template::Template};
use qlio_syntax::ast;

use super::{
    Failure, Tables, Variables,
    graph::{self, Kind, Part, Statement},
    rows::path_text,
    select, write,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Finished,
    Skipped,
}

/// How far a `try` has come.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    has_begun: bool,
    is_decided: bool,
}

pub(super) struct Interpreter<'s> {
    statements: Vec<Statement<'s>>,
    states: Vec<State>,
    tries: Vec<Progress>,
    /// Statements of blocks that were taken: they run even if nothing needs them.
    started: VecDeque<usize>,
    pub(super) variables: Variables,
    pub(super) tables: &'s dyn Tables,
}

/// Runs a script.
///
/// # Errors
/// [`Failure::Failed`] with the reason of the statement that fails; which one of several, and its
/// wording, are not what the engine would say. [`Failure::Unsupported`] names the part left out.
pub fn run(script: &ast::Script, tables: &dyn Tables) -> Result<Value, Failure> {
    let statements = graph::statements(script);
    let count = statements.len();
    let mut interpreter = Interpreter {
        statements,
        states: vec![State::Waiting; count],
        tries: vec![Progress::default(); count],
        started: VecDeque::new(),
        variables: Variables::default(),
        tables,
    };
    let result = script.result.as_ref().map(|result| result.alternatives.as_slice());
    for orphan in interpreter.orphans(result.unwrap_or_default()) {
        interpreter.ensure(orphan)?;
    }
    let value = match result {
        Some(alternatives) => interpreter.chain(alternatives, true)?,
        None => interpreter.implied_value(script)?,
    };
    while let Some(number) = interpreter.started.pop_front() {
        interpreter.complete(number)?;
    }
    Ok(value)
}

impl Interpreter<'_> {
    /// Top-level statements that nothing else needs (EXE-4, EXE-5).
    fn orphans(&self, result: &[ast::Primary]) -> Vec<usize> {
        let mut of_value = Vec::new();
        for alternative in result {
            graph::primary_reads(alternative, &mut of_value);
        }
        let is_needed = |number: usize| {
            let is_bound_here = |name: &String| {
                self.statements.iter().enumerate().any(|(inner, statement)| {
                    self.is_in(inner, number) && statement.target == Some(name.as_str())
                })
            };
            let mut others = self.statements.iter().enumerate();
            of_value.iter().any(is_bound_here)
                || others.any(|(other, statement)| {
                    !self.is_in(other, number) && statement.reads.iter().any(is_bound_here)
                })
        };
        let is_top = |number: &usize| self.statements[*number].place.is_none();
        (0..self.statements.len()).filter(is_top).filter(|number| !is_needed(*number)).collect()
    }

    /// Whether a statement is a block or stands in it, at any depth.
    fn is_in(&self, number: usize, block: usize) -> bool {
        number == block
            || self.statements[number].place.is_some_and(|(outer, _)| self.is_in(outer, block))
    }

    /// The value of a script without `return` (RET-2).
    fn implied_value(&mut self, script: &ast::Script) -> Result<Value, Failure> {
        let is_create = |item: &ast::Item| match item {
            ast::Item::Statement(statement) => {
                matches!(statement.alternatives.first(), Some(ast::Primary::Create(_)))
            }
            _ => false,
        };
        match script.items.iter().rev().find(|item| !is_create(item)) {
            None if script.items.is_empty() => Ok(Value::object(Object::new())),
            None => Ok(Value::object([("message", Value::from("ok"))].into_iter().collect())),
            Some(ast::Item::Statement(statement)) => match &statement.target {
                Some(target) => self.need(&target.text).map(|()| self.variable(&target.text)),
                // It has run as an orphan; its value was kept under no name.
                None => Ok(self.variable("")),
            },
            Some(_) => Ok(Value::Absent),
        }
    }

    fn variable(&self, name: &str) -> Value {
        self.variables.0.get(name).cloned().unwrap_or_default()
    }

    pub(super) fn is_symbol(&self, name: &str) -> bool {
        self.statements.iter().any(|statement| {
            statement.target == Some(name)
                || matches!(statement.kind, Kind::Throw(thrown) if thrown == name)
        })
    }

    pub(super) fn is_assigned(&self, name: &str) -> bool {
        self.statements.iter().any(|statement| statement.target == Some(name))
    }

    /// Runs the statement that binds a name, if there is one.
    fn need(&mut self, name: &str) -> Result<(), Failure> {
        let binder = self.statements.iter().position(|statement| statement.target == Some(name));
        binder.map_or(Ok(()), |number| self.ensure(number))
    }

    /// Runs a statement unless it has run or its branch was not taken.
    fn ensure(&mut self, number: usize) -> Result<(), Failure> {
        match self.states[number] {
            State::Finished | State::Skipped => return Ok(()),
            State::Running => return Err(Failure::Failed("circular reference".to_owned())),
            State::Waiting => {}
        }
        if let Some((block, part)) = self.statements[number].place {
            self.enter(block, part)?;
            if self.states[number] == State::Skipped {
                return Ok(());
            }
        }
        self.states[number] = State::Running;
        match &self.statements[number].kind {
            Kind::Chain(alternatives) => {
                let alternatives = *alternatives;
                self.earlier_writers(number)?;
                let value = self.chain(alternatives, false)?;
                let target = self.statements[number].target.unwrap_or_default();
                self.variables.0.insert(target.to_owned(), value);
            }
            Kind::If(logic) => {
                let logic = *logic;
                self.need_all(&graph::logic_names(logic))?;
                let is_true = self.logic(logic)?;
                self.decide(number, |part| (part == Part::Then) == is_true);
            }
            Kind::Try(_) => self.whole_try(number)?,
            Kind::Throw(name) => {
                let name = *name;
                self.need(name)?;
                if !self.is_assigned(name) && self.variable(name).is_absent() {
                    self.variables.0.insert(name.to_owned(), Value::from(name));
                }
            }
        }
        self.states[number] = State::Finished;
        Ok(())
    }

    /// Runs a statement and, if it is an `if`, all statements of the branch taken.
    fn complete(&mut self, number: usize) -> Result<(), Failure> {
        self.ensure(number)?;
        if matches!(self.statements[number].kind, Kind::If(_)) {
            for inner in self.members(number, |_| true) {
                self.complete(inner)?;
            }
        }
        Ok(())
    }

    /// Decides about the block that a statement stands in.
    fn enter(&mut self, block: usize, part: Part) -> Result<(), Failure> {
        match part {
            Part::Then | Part::Else => self.ensure(block),
            Part::Body => self.begin_try(block),
            Part::Catch(_) => self.decide_try(block),
            Part::Finally => {
                self.decide_try(block)?;
                self.complete_all(block, |part| matches!(part, Part::Catch(_)))
            }
        }
    }

    fn begin_try(&mut self, number: usize) -> Result<(), Failure> {
        if std::mem::replace(&mut self.tries[number].has_begun, true) {
            return Ok(());
        }
        if let Some((block, part)) = self.statements[number].place {
            self.enter(block, part)?;
        }
        if self.states[number] != State::Skipped {
            self.started.extend(self.members(number, |part| part == Part::Body));
            self.started.push_back(number);
        }
        Ok(())
    }

    /// Runs the body, then decides which catches run (TRY-6).
    fn decide_try(&mut self, number: usize) -> Result<(), Failure> {
        self.begin_try(number)?;
        if self.states[number] == State::Skipped || self.tries[number].is_decided {
            return Ok(());
        }
        self.complete_all(number, |part| part == Part::Body)?;
        let Kind::Try(conditions) = &self.statements[number].kind else { return Ok(()) };
        let conditions = conditions.clone();
        let mut chosen = Vec::new();
        for condition in conditions {
            self.need_all(&graph::logic_names(condition))?;
            chosen.push(self.logic(condition)?);
        }
        self.tries[number].is_decided = true;
        self.decide(number, |part| match part {
            Part::Catch(position) => chosen[position],
            _ => true,
        });
        Ok(())
    }

    fn whole_try(&mut self, number: usize) -> Result<(), Failure> {
        self.decide_try(number)?;
        self.complete_all(number, |part| matches!(part, Part::Catch(_)))?;
        self.complete_all(number, |part| part == Part::Finally)
    }

    fn complete_all(&mut self, block: usize, of: impl Fn(Part) -> bool) -> Result<(), Failure> {
        for inner in self.members(block, of) {
            self.complete(inner)?;
        }
        Ok(())
    }

    /// The direct statements of some parts of a block that are not skipped.
    fn members(&self, block: usize, of: impl Fn(Part) -> bool) -> Vec<usize> {
        let is_member = |number: &usize| {
            self.statements[*number].place.is_some_and(|(outer, part)| outer == block && of(part))
                && self.states[*number] != State::Skipped
        };
        (0..self.statements.len()).filter(is_member).collect()
    }

    /// Skips the parts of a block that were not chosen; the others will run.
    fn decide(&mut self, block: usize, is_chosen: impl Fn(Part) -> bool) {
        for number in self.members(block, |part| !is_chosen(part)) {
            self.skip(number);
        }
        self.started.extend(self.members(block, is_chosen));
    }

    fn skip(&mut self, number: usize) {
        self.states[number] = State::Skipped;
        if let Some(target) = self.statements[number].target {
            self.variables.0.insert(target.to_owned(), Value::Null);
        }
        for inner in self.members(number, |_| true) {
            self.skip(inner);
        }
    }

    /// Writes to one variable happen in text order (EXE-7), but each after those that it needs.
    fn earlier_writers(&mut self, number: usize) -> Result<(), Failure> {
        for name in self.written(number) {
            let (mut seen, mut sorted) = (Vec::new(), Vec::new());
            for writer in self.writers(&name) {
                self.sort_writer(writer, &name, &mut seen, &mut sorted);
            }
            for earlier in sorted.into_iter().take_while(|writer| *writer != number) {
                self.ensure(earlier)?;
            }
        }
        Ok(())
    }

    /// The names that a statement writes to.
    fn written(&self, number: usize) -> Vec<String> {
        match &self.statements[number].kind {
            Kind::Chain(alternatives) => alternatives.iter().filter_map(write::written).collect(),
            _ => Vec::new(),
        }
    }

    /// The statements that write to a name, in text order.
    fn writers(&self, name: &str) -> Vec<usize> {
        let writes = |number: &usize| self.written(*number).iter().any(|written| written == name);
        (0..self.statements.len()).filter(writes).collect()
    }

    /// Adds a writer of a name to those that come before it, behind the ones that it waits for.
    /// Those that wait for each other are a circular reference, which is found where they are needed.
    fn sort_writer(
        &self,
        writer: usize,
        name: &str,
        seen: &mut Vec<usize>,
        sorted: &mut Vec<usize>,
    ) {
        if seen.contains(&writer) {
            return;
        }
        seen.push(writer);
        for other in self.writers(name) {
            if other != writer && self.waits_for(writer, other) {
                self.sort_writer(other, name, seen, sorted);
            }
        }
        sorted.push(writer);
    }

    /// Whether a statement can run only after another has.
    fn waits_for(&self, number: usize, other: usize) -> bool {
        let mut is_seen = vec![false; self.statements.len()];
        let mut stack = vec![number];
        while let Some(number) = stack.pop() {
            if number == other {
                return true;
            }
            if !std::mem::replace(&mut is_seen[number], true) {
                self.awaited(number, &mut stack);
            }
        }
        false
    }

    /// The statements that must have run before this one: those it reads, and those that decide about
    /// its block.
    fn awaited(&self, number: usize, found: &mut Vec<usize>) {
        let statement = &self.statements[number];
        let mut names = statement.reads.clone();
        let mut place = statement.place;
        let mut is_before = |block: usize, is_earlier: &dyn Fn(Part) -> bool| {
            let all = 0..self.statements.len();
            found.extend(all.filter(|inner| self.part_of(*inner, block).is_some_and(is_earlier)));
        };
        if matches!(statement.kind, Kind::Try(_)) {
            is_before(number, &|_| true);
        }
        // The body of a `try` waits for what is around it only.
        while let Some((block, Part::Body)) = place {
            place = self.statements[block].place;
        }
        match place {
            Some((block, part @ (Part::Catch(_) | Part::Finally))) => {
                names.extend(self.statements[block].reads.iter().cloned());
                is_before(block, &|earlier| match earlier {
                    Part::Body => true,
                    Part::Catch(_) => part == Part::Finally,
                    _ => false,
                });
            }
            Some((block, _)) => found.push(block),
            None => {}
        }
        let binder = |name: &String| {
            self.statements.iter().position(|statement| statement.target == Some(name.as_str()))
        };
        found.extend(names.iter().filter_map(binder));
    }

    /// The part of a block that a statement stands in, at any depth.
    fn part_of(&self, number: usize, block: usize) -> Option<Part> {
        let (outer, part) = self.statements[number].place?;
        if outer == block { Some(part) } else { self.part_of(outer, block) }
    }

    fn need_all(&mut self, names: &[String]) -> Result<(), Failure> {
        names.iter().try_for_each(|name| self.need(name))
    }

    /// A fallback chain (DEF-4).
    fn chain(&mut self, alternatives: &[ast::Primary], is_return: bool) -> Result<Value, Failure> {
        for (position, alternative) in alternatives.iter().enumerate() {
            let mut reads = Vec::new();
            graph::primary_reads(alternative, &mut reads);
            self.need_all(&reads)?;
            let is_last = position + 1 == alternatives.len();
            match self.primary(alternative, is_return) {
                Ok(value) if !value.is_nothing() || is_last => return Ok(value),
                Err(failure @ Failure::Unsupported(_)) => return Err(failure),
                Err(failure) if is_last => return Err(failure),
                _ => {}
            }
        }
        Ok(Value::Absent)
    }

    fn primary(&mut self, primary: &ast::Primary, is_return: bool) -> Result<Value, Failure> {
        if select::misses_prerequisite(primary, &self.variables)? {
            return Ok(Value::Absent);
        }
        match primary {
            ast::Primary::Json(json) => self.json(json),
            ast::Primary::Reference(name) => match self.variable(&name.text) {
                Value::Null if is_return => {
                    Err(Failure::Failed("Unresolved reference in return".to_owned()))
                }
                value => Ok(value),
            },
            ast::Primary::Select(select) => self.select(select),
            ast::Primary::Insert(insert) => self.insert(insert),
            ast::Primary::Delete(delete) => self.delete(delete),
            ast::Primary::Create(_) => {
                Ok(Value::object([("message", Value::from("ok"))].into_iter().collect()))
            }
            _ => Err(Failure::Unsupported("a statement of this kind")),
        }
    }

    fn json(&self, json: &ast::Json) -> Result<Value, Failure> {
        Ok(match &json.kind {
            ast::JsonKind::Null => Value::Null,
            ast::JsonKind::Bool(value) => Value::Bool(*value),
            ast::JsonKind::Number(text) => select::number(text)?,
            ast::JsonKind::String(text) => self.fill(text)?,
            ast::JsonKind::Array(elements) => Value::array(
                elements.iter().map(|element| self.json(element)).collect::<Result<_, _>>()?,
            ),
            ast::JsonKind::Object(members) => {
                let mut object = Object::new();
                for member in members {
                    let value = self.json(&member.value)?;
                    if !value.is_absent() {
                        object.insert(member.key.as_str(), value);
                    }
                }
                Value::object(object)
            }
        })
    }

    /// A text with its tokens filled (TOK-11).
    pub(super) fn fill(&self, text: &str) -> Result<Value, Failure> {
        let filled = Template::parse(text).fill(&self.variables);
        filled.map_err(|error| Failure::Failed(error.to_string()))
    }

    fn logic(&self, logic: &ast::Logic) -> Result<bool, Failure> {
        Ok(match logic {
            ast::Logic::Or(a, b) => self.logic(a)? || self.logic(b)?,
            ast::Logic::And(a, b) => self.logic(a)? && self.logic(b)?,
            ast::Logic::Not(inner) => !self.logic(inner)?,
            ast::Logic::Name(path) => self.fill(&format!("{{={}}}", path_text(path)))?.is_truthy(),
        })
    }
}
