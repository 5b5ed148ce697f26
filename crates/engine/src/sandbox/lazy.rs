//! A value that is made when a script asks for it.

use std::{cell::OnceCell, fmt, rc::Rc};

use qlio_data::{Object, Value};

use super::convert;

/// An argument of a hook. Most hooks look at a few of theirs, so what costs something is made for those that
/// do. Cheap to clone; all clones have the same value.
#[derive(Clone)]
pub struct Lazy(Rc<State>);

struct State {
    value: OnceCell<Value>,
    make: Box<dyn Fn() -> Value>,
    /// About how many bytes the value takes inside the interpreter.
    weight: usize,
}

impl Lazy {
    /// A value to be made by `make`, at most once; `weight` is about how many bytes it will take inside the
    /// interpreter.
    pub fn new(weight: usize, make: impl Fn() -> Value + 'static) -> Self {
        Self(Rc::new(State { value: OnceCell::new(), make: Box::new(make), weight }))
    }

    /// The value, made now if it was not made before.
    pub(super) fn get(&self) -> &Value {
        self.0.value.get_or_init(&self.0.make)
    }

    pub(super) fn weight(&self) -> usize {
        self.0.weight
    }
}

impl From<Value> for Lazy {
    fn from(value: Value) -> Self {
        let weight = convert::weight(&value);
        let state =
            State { value: OnceCell::from(value), make: Box::new(|| Value::Absent), weight };
        Self(Rc::new(state))
    }
}

impl From<Object> for Lazy {
    fn from(object: Object) -> Self {
        Self::from(Value::object(object))
    }
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lazy").field(&self.0.value.get()).finish()
    }
}
