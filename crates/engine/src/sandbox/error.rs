//! Errors of scripts, in the words of the script's author.

use std::fmt;

use qlio_data::Value;
use rquickjs::{Ctx, Object as JsObject, Value as JsValue};

use super::{convert, limits::Meter};

/// Scripts of the sandbox itself are compiled under names with this prefix; their frames are not
/// shown to anybody.
pub(super) const OWN_FILE_PREFIX: &str = "qlio:";

/// What went wrong in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptErrorKind {
    /// The script threw, or handed an error to its callback.
    Thrown,
    /// It ran over its time.
    Time,
    /// It was not done within the slice that it has on this thread: it is to be done again by another.
    Unfinished,
    /// It ran over its heap or its stack.
    Memory,
    /// The function, module or export does not exist.
    NotFound,
    /// A module could not be read or compiled, or threw while loading.
    Load,
    /// It returned without ever calling its callback.
    Unanswered,
    /// The interpreter in which it waited is gone.
    Lost,
    /// What it returned can't be used (a cycle, a value of a wrong kind).
    Result,
}

/// An error of a script. `Display` prints the message alone.
#[derive(Debug, Clone)]
pub struct ScriptError {
    /// The kind of failure.
    pub kind: ScriptErrorKind,
    /// The message of the thrown error, or the text of another thrown value.
    pub message: String,
    /// What ran: the name of the hook, the function or the file.
    pub function: String,
    /// The script file, relative to its root.
    pub file: Option<String>,
    /// The line in `file`, from 1.
    pub line: Option<u32>,
    /// The column in `line`, from 1.
    pub column: Option<u32>,
    /// The thrown value, when it was not an `Error`.
    pub thrown: Option<Box<Value>>,
}

impl ScriptError {
    /// An error without a position.
    pub(super) fn new(kind: ScriptErrorKind, function: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            function: function.to_owned(),
            file: None,
            line: None,
            column: None,
            thrown: None,
        }
    }

    /// Sets the position, as the interpreter knows it. Answers false, and sets nothing, for a file of
    /// the sandbox itself.
    pub(super) fn place(&mut self, file: &str, line: u32, column: u32) -> bool {
        if file.starts_with(OWN_FILE_PREFIX) {
            return false;
        }
        let is_template = file.strip_prefix(super::instance::TEMPLATE_FILE_PREFIX);
        self.file = Some(is_template.unwrap_or(file).trim_start_matches('/').to_owned());
        self.line = Some(line);
        // The generated code of a template keeps the template's lines, but not its columns.
        self.column = match (is_template, line) {
            (Some(_), _) => None,
            (None, 1) => Some(column.saturating_sub(super::instance::WRAPPER_CHARS).max(1)),
            (None, _) => Some(column),
        };
        true
    }

    /// Whether the realm must be built anew after this error.
    pub(super) fn is_limit(&self) -> bool {
        use ScriptErrorKind::{Memory, Time, Unfinished};
        matches!(self.kind, Time | Unfinished | Memory)
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScriptError {}

/// The message of the error that a script is thrown by what it calls.
#[derive(Debug, Clone)]
pub struct Thrown(pub(crate) String);

/// A failure inside the interpreter, before it is known what ran.
pub(super) enum Fault {
    /// An error of the interpreter; an exception is still pending in the context.
    Js(rquickjs::Error),
    /// An error that we found ourselves.
    Own(ScriptErrorKind, String),
}

impl Fault {
    pub(super) fn result(message: impl Into<String>) -> Self {
        Self::Own(ScriptErrorKind::Result, message.into())
    }
}

impl From<rquickjs::Error> for Fault {
    fn from(error: rquickjs::Error) -> Self {
        Self::Js(error)
    }
}

/// What ran when a fault came up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Activity<'a> {
    /// How limits call it: `Hook`, `UDF`, `Template`, ….
    pub(super) subject: &'a str,
    /// Its name; may be empty.
    pub(super) name: &'a str,
    /// Whether modules are being loaded.
    pub(super) is_load: bool,
}

impl Activity<'_> {
    fn over(&self, limit: &str) -> String {
        let space = if self.name.is_empty() { "" } else { " " };
        format!("{}{space}{} exceeded its {limit} limit", self.subject, self.name)
    }
}

/// Turns a fault into the error that is reported; takes the pending exception.
pub(super) fn explain(
    ctx: &Ctx<'_>,
    fault: Fault,
    activity: Activity<'_>,
    meter: &Meter,
) -> ScriptError {
    let mut error = match fault {
        Fault::Own(kind, message) => ScriptError::new(kind, activity.name, message),
        Fault::Js(rquickjs::Error::Allocation) => {
            ScriptError::new(ScriptErrorKind::Memory, activity.name, "")
        }
        Fault::Js(rquickjs::Error::Exception) => {
            let exception = ctx.catch();
            from_exception(ctx, &exception, activity)
        }
        Fault::Js(other) => {
            // Conversions by the interpreter's glue; its wording names its own types.
            let reason = match other {
                rquickjs::Error::InvalidString(_) => "the text contains a NUL character",
                _ => "a value of an unexpected kind",
            };
            ScriptError::new(ScriptErrorKind::Result, activity.name, reason)
        }
    };
    // Asked only now: getters of the thrown object run on the same time.
    if meter.is_expired() {
        let is_slice = meter.is_slice();
        error.kind = if is_slice { ScriptErrorKind::Unfinished } else { ScriptErrorKind::Time };
        error.thrown = None;
    }
    match error.kind {
        ScriptErrorKind::Time | ScriptErrorKind::Unfinished => {
            error.message = activity.over("time");
        }
        ScriptErrorKind::Memory => error.message = activity.over("memory"),
        _ => {}
    }
    error
}

fn from_exception<'js>(
    ctx: &Ctx<'js>,
    exception: &JsValue<'js>,
    activity: Activity<'_>,
) -> ScriptError {
    let kind = if activity.is_load { ScriptErrorKind::Load } else { ScriptErrorKind::Thrown };
    let mut error = ScriptError::new(kind, activity.name, "");
    if exception.is_null() || exception.is_undefined() || exception.is_uncatchable_error() {
        // No memory was left to make an error object, or the interpreter was interrupted.
        if exception.is_undefined() {
            "undefined".clone_into(&mut error.message);
            return error;
        }
        error.kind = ScriptErrorKind::Memory;
        return error;
    }
    let Some(object) = exception.as_object() else {
        error.message = convert::scalar_text(exception);
        error.thrown = convert::from_js(ctx, exception, &convert::Bounds::SMALL).ok().map(Box::new);
        drop_pending(ctx);
        return error;
    };
    let name = member_text(ctx, object, "name");
    error.message = match member_text(ctx, object, "message") {
        Some(message) if exception.is_error() || !message.is_empty() => message,
        _ => convert::describe(ctx, exception),
    };
    if exception.is_error() {
        // A host function ran out of memory, or the interpreter itself did.
        let is_heap = name.as_deref() == Some("InternalError") && error.message == "out of memory";
        let is_stack = name.as_deref() == Some("RangeError")
            && error.message == "Maximum call stack size exceeded";
        if is_heap || is_stack {
            error.kind = ScriptErrorKind::Memory;
        }
        if error.message.is_empty() {
            error.message = name.unwrap_or_else(|| "Error".to_owned());
        }
    } else {
        error.thrown = convert::from_js(ctx, exception, &convert::Bounds::SMALL).ok().map(Box::new);
    }
    if let Some(stack) = member_text(ctx, object, "stack") {
        place_by_stack(&mut error, &stack);
    }
    drop_pending(ctx);
    error
}

/// A getter of the thrown object may have thrown in its turn.
fn drop_pending(ctx: &Ctx<'_>) {
    if ctx.has_exception() {
        ctx.catch();
    }
}

fn member_text<'js>(ctx: &Ctx<'js>, object: &JsObject<'js>, name: &str) -> Option<String> {
    let member: JsValue<'js> = object.get(name).ok()?;
    let text = member.as_string()?;
    convert::string_text(ctx, text).ok()
}

/// Finds the first frame of the author's own files in a stack such as `    at f (/a.js:3:9)`.
fn place_by_stack(error: &mut ScriptError, stack: &str) {
    for frame in stack.lines() {
        let frame = frame.trim().trim_start_matches("at ");
        let place = match (frame.rfind('('), frame.strip_suffix(')')) {
            (Some(open), Some(inner)) => inner.get(open + 1..).unwrap_or_default(),
            _ => frame,
        };
        let mut parts = place.rsplitn(3, ':');
        let (column, line, file) = (parts.next(), parts.next(), parts.next());
        let (Some(Ok(column)), Some(Ok(line)), Some(file)) =
            (column.map(str::parse::<u32>), line.map(str::parse::<u32>), file)
        else {
            continue;
        };
        if error.place(file, line, column) {
            return;
        }
    }
}
