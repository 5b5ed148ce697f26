//! Reading what bindings say as JSON: objects whose members all have a meaning.

use std::fmt;

use qlio_data::{Object, Value, codec::json};

/// An object of a binding that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescriptionError(pub(crate) String);

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DescriptionError {}

/// An object that is read member by member.
pub(crate) struct Description {
    /// How messages call it.
    name: &'static str,
    members: Object,
}

impl Description {
    pub(crate) fn parse(name: &'static str, text: &str) -> Result<Self, DescriptionError> {
        let value = json::parse_str(text)
            .map_err(|error| DescriptionError(format!("{name}: not JSON: {error}")))?;
        Self::of(name, &value)
    }

    pub(crate) fn of(name: &'static str, value: &Value) -> Result<Self, DescriptionError> {
        match value.into_tree() {
            Value::Object(members) => Ok(Self { name, members: Object::clone(&members) }),
            _ => Err(DescriptionError(format!("{name} must be an object"))),
        }
    }

    /// A member; `null` counts as absent.
    pub(crate) fn take(&mut self, member: &str) -> Option<Value> {
        self.members.remove(member).filter(|value| !value.is_nothing())
    }

    pub(crate) fn text(&mut self, member: &str) -> Result<Option<String>, DescriptionError> {
        let value = self.take(member);
        let text = |value: Value| {
            value.as_str().map(str::to_owned).ok_or_else(|| self.wrong(member, "text"))
        };
        value.map(text).transpose()
    }

    /// A whole number within bounds.
    pub(crate) fn number(
        &mut self,
        member: &str,
        most: u64,
    ) -> Result<Option<u64>, DescriptionError> {
        let Some(value) = self.take(member) else { return Ok(None) };
        let number = match &value {
            Value::Number(number) => number.as_i64().and_then(|number| u64::try_from(number).ok()),
            _ => None,
        };
        let number = number.filter(|number| (1..=most).contains(number));
        number
            .map(Some)
            .ok_or_else(|| self.wrong(member, &format!("a whole number from 1 to {most}")))
    }

    pub(crate) fn object(&mut self, member: &str) -> Result<Object, DescriptionError> {
        match self.take(member).map(|value| value.into_tree()) {
            None => Ok(Object::new()),
            Some(Value::Object(object)) => Ok(Object::clone(&object)),
            Some(_) => Err(self.wrong(member, "an object")),
        }
    }

    /// All has been read that has a meaning.
    ///
    /// # Errors
    /// There is more.
    pub(crate) fn finish(self) -> Result<(), DescriptionError> {
        match self.members.iter().next() {
            None => Ok(()),
            Some((member, _)) => {
                Err(DescriptionError(format!("{} has no member `{member}`", self.name)))
            }
        }
    }

    pub(crate) fn wrong(&self, member: &str, wanted: &str) -> DescriptionError {
        DescriptionError(format!("`{member}` of {} must be {wanted}", self.name))
    }
}
