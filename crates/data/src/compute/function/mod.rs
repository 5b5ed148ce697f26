//! The functions of expressions: one table, by group, from which also the reference is made.
//!
//! [`find`] a name, check the number of arguments against [`Function::arguments`], then
//! [`Function::call`] with their values. Errors name the argument by its position. A function is
//! pure: what is different in each request, the time and chance, is in the [`Context`].

mod argument;
mod choice;
mod context;
mod date;
mod document;
mod list;
mod math;
mod moment;
mod object;
mod pattern;
mod text;
mod web;

use std::ops::RangeInclusive;

use super::{ComputeError, effort};
use crate::Value;

pub use context::{Context, PatternCache};
pub use document::reference;

/// The most arguments of a call.
pub const ARGUMENTS_MAX: usize = 255;

/// The most elements of a list that a function makes.
pub const ELEMENTS_MAX: usize = 4_000_000;

/// A built-in function.
#[derive(Debug)]
pub struct Function {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Name and parameters, those that may be left out in brackets: `round(x[, places])`.
    pub signature: &'static str,
    /// What it gives, in one sentence or two.
    pub summary: &'static str,
    /// What a null argument means.
    pub nulls: Nulls,
    /// How long a result stays the same for the same arguments.
    pub volatility: Volatility,
    /// When arguments are evaluated.
    pub evaluation: Evaluation,
    /// Calls, and the JSON of what they give.
    pub examples: &'static [(&'static str, &'static str)],
    arguments_min: usize,
    arguments_max: usize,
    /// What a call is tried with to find arguments that are wrong whatever the others are.
    trial: Option<Trial>,
    /// About how many bytes it reads and makes; more than enough need not be counted.
    effort: fn(&[Value], usize) -> usize,
    run: fn(&Context<'_>, &[Value]) -> Result<Value, ComputeError>,
}

/// What stands in a trial for arguments that are not known before a call.
#[derive(Debug, Clone, Copy)]
struct Trial {
    /// A text that the function takes for each of them.
    text: &'static str,
    /// Which arguments they may be. Of the others nothing is said if one of them is not known.
    positions: &'static [usize],
}

/// What a function does with arguments that are null or absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nulls {
    /// Its result is null.
    Propagate,
    /// It takes them.
    Take,
}

/// How long a result stays the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Volatility {
    /// For ever.
    Constant,
    /// Within one request.
    Request,
    /// It is new for each row.
    Row,
}

/// When the arguments of a function are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluation {
    /// Before the call.
    Eager,
    /// One by one, from the left, until one is not null: `coalesce`.
    UntilValue,
    /// The first, and then the second or the third: `if`.
    Branch,
    /// With errors as null: `try`.
    Guarded,
}

/// Functions of one topic.
#[derive(Debug)]
pub struct Group {
    /// Its title in the reference.
    pub title: &'static str,
    /// Its functions, in the order of the reference.
    pub functions: &'static [Function],
}

/// All functions, in the order of the reference.
pub const GROUPS: [Group; 8] = [
    choice::GROUP,
    text::GROUP,
    pattern::GROUP,
    math::GROUP,
    date::GROUP,
    list::GROUP,
    object::GROUP,
    web::GROUP,
];

/// The function of that name.
pub fn find(name: &str) -> Option<&'static Function> {
    all().find(|function| function.name == name)
}

/// All functions.
pub fn all() -> impl Iterator<Item = &'static Function> {
    GROUPS.iter().flat_map(|group| group.functions)
}

/// An ordinary function; others change what differs.
const fn function(
    name: &'static str,
    signature: &'static str,
    summary: &'static str,
    examples: &'static [(&'static str, &'static str)],
    run: fn(&Context<'_>, &[Value]) -> Result<Value, ComputeError>,
) -> Function {
    let (arguments_min, arguments_max) = count_parameters(signature);
    Function {
        name,
        signature,
        arguments_min,
        arguments_max,
        summary,
        nulls: Nulls::Propagate,
        volatility: Volatility::Constant,
        evaluation: Evaluation::Eager,
        examples,
        trial: None,
        effort: effort_of_reading,
        run,
    }
}

/// A function that says of some arguments whether they are wrong before the others are known: those at `positions`,
/// for which a `text` stands in.
const fn with_trial(
    mut function: Function,
    text: &'static str,
    positions: &'static [usize],
) -> Function {
    function.trial = Some(Trial { text, positions });
    function
}

/// All arguments are looked at as a whole.
fn effort_of_reading(arguments: &[Value], enough: usize) -> usize {
    arguments.iter().fold(0_usize, |bytes, argument| {
        let left = enough.saturating_sub(bytes);
        bytes.saturating_add(effort::bytes_read(argument, left))
    })
}

/// Of lists and objects only one place is looked at, unless they are still text.
fn effort_of_a_look(arguments: &[Value], _: usize) -> usize {
    let is_there = |value: &&Value| !matches!(value, Value::Array(_) | Value::Object(_));
    let bytes = arguments.iter().filter(is_there).map(|value| effort::bytes_read(value, 0));
    bytes.fold(0, usize::saturating_add)
}

/// The least and the most parameters of a signature.
const fn count_parameters(signature: &str) -> (usize, usize) {
    let text = signature.as_bytes();
    let (mut needed, mut optional) = (0, 0);
    let mut is_optional = false;
    let mut is_inside = true;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'(' | b',' => is_inside = false,
            b'[' => is_optional = true,
            b' ' | b']' | b')' => {}
            // The first byte of `…`.
            0xe2 => return (needed, ARGUMENTS_MAX),
            _ if is_inside => {}
            _ => {
                is_inside = true;
                if is_optional {
                    optional += 1;
                } else {
                    needed += 1;
                }
            }
        }
        at += 1;
    }
    (needed, needed + optional)
}

impl Function {
    /// How many arguments it takes, as its signature says.
    pub fn arguments(&self) -> RangeInclusive<usize> {
        self.arguments_min..=self.arguments_max
    }

    /// About how many bytes a call reads and makes; counting ends soon after `enough`. Beyond the length of its
    /// arguments it can be a guess: whoever has no time calls it [`in_haste`](Context::in_haste).
    pub fn effort(&self, arguments: &[Value], enough: usize) -> usize {
        (self.effort)(arguments, enough)
    }

    /// Whether arguments that are known before the call are right, whatever those are that are not: patterns,
    /// zones, parts of dates. What reads or makes more than `bytes_max` is not looked at.
    ///
    /// # Errors
    /// What is wrong, with the position of an argument that is known.
    pub fn check(&self, known: &[Option<Value>], bytes_max: usize) -> Result<(), ComputeError> {
        let Some(trial) = self.trial else { return Ok(()) };
        let stand_in = |(position, argument): (usize, &Option<Value>)| {
            let is_trial = trial.positions.contains(&position);
            argument.clone().or_else(|| is_trial.then(|| Value::from(trial.text)))
        };
        let arguments: Option<Vec<Value>> = known.iter().enumerate().map(stand_in).collect();
        let Some(arguments) = arguments else { return Ok(()) };
        if self.effort(&arguments, bytes_max) > bytes_max {
            return Ok(());
        }
        let patterns = PatternCache::default();
        let tried = self.call(&Context::new((0, 0), &|| 0, &patterns), &arguments);
        let is_known = |error: &ComputeError| {
            error
                .position()
                .is_some_and(|position| known.get(position).is_some_and(Option::is_some))
        };
        tried.map(drop).or_else(|error| if is_known(&error) { Err(error) } else { Ok(()) })
    }

    /// Its value. The arguments have been evaluated, whatever [`Evaluation`] says, and absent ones are
    /// null.
    pub fn call(&self, context: &Context<'_>, arguments: &[Value]) -> Result<Value, ComputeError> {
        if !self.arguments().contains(&arguments.len()) {
            let reason = format!("`{}` is not called with {}", self.signature, arguments.len());
            return Err(ComputeError::invalid(arguments.len(), reason));
        }
        if self.nulls == Nulls::Propagate && arguments.iter().any(Value::is_nothing) {
            return Ok(Value::Null);
        }
        let result = (self.run)(context, arguments)?;
        Ok(if result.is_absent() { Value::Null } else { result })
    }
}

#[cfg(test)]
mod tests;
