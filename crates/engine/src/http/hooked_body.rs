//! The body of an answer as hooks may look at it: decoded when the first of them does.
//!
//! In: an answer after "parse response", and what the hooks before have made of its media type. Out: its
//! value, once somebody asks. Hooks run while the run cannot be reached, so what decoding needs of it is held
//! here, and what it warns of is kept until the hook has ended.

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
};

use bytes::Bytes;
use qlio_data::{
    Value,
    codec::{Stop, media_type::MediaType},
    projection::Projection,
};

use super::{
    Call,
    answer::{Answer, in_charset_of, lossy},
    decoding::{Decoding, Undecodable},
    large::Apart,
};
use crate::{
    budget::Reserved,
    error::RunError,
    sandbox::{Lazy, Parsed, Thrown},
};

/// About how many bytes of the interpreter one byte of a body takes when all of it has been looked at.
const BYTE_WEIGHT: usize = 12;

/// What decoding needs, held until it is needed. Cheap to clone.
#[derive(Clone)]
pub(super) struct LaterDecoding(Rc<Held>);

struct Held {
    apart: Apart,
    warnings: RefCell<Vec<String>>,
}

impl LaterDecoding {
    fn of(call: &Call<'_>) -> Self {
        Self(Rc::new(Held { apart: Apart::of(call), warnings: RefCell::default() }))
    }

    /// Decodes now; `None` only if the table had no such verb.
    pub(super) fn with<R>(&self, decode: impl FnOnce(&Decoding<'_>) -> R) -> Option<R> {
        self.0.apart.decode(&self.0.warnings, Stop::default(), decode)
    }
}

/// A body to be decoded whole.
struct Whole {
    content: Bytes,
    media_type: MediaType,
    is_typed_by_hook: bool,
    is_success: bool,
}

impl Whole {
    fn decode(self, decoding: &Decoding<'_>) -> Result<Value, Undecodable> {
        let Self { content, media_type, is_typed_by_hook, is_success } = self;
        if is_typed_by_hook {
            decoding.decode_by_type(content, &media_type, &Projection::All)
        } else {
            decoding.decode(content, &media_type, &Projection::All, is_success)
        }
    }
}

/// The body of an answer between "parse response" and the rows.
pub(super) struct HookedBody {
    pub(super) later: LaterDecoding,
    pub(super) content: Bytes,
    pub(super) media_type: MediaType,
    /// No hook has made anything of the body or its media type.
    pub(super) is_as_it_came: bool,
    /// Content with a type of its own has been decoded before; the declared format is not its.
    is_typed_by_hook: bool,
    is_success: bool,
    value: OnceCell<Result<Value, Undecodable>>,
    /// The value before anybody asked for it, with what there is to warn of then.
    ahead: OnceCell<(Result<Value, Undecodable>, Vec<String>)>,
}

impl HookedBody {
    /// The body after "parse response".
    pub(super) fn new(call: &Call<'_>, answer: &Answer<'_>) -> Self {
        let value = match &answer.parsed {
            Parsed::Value(value) => OnceCell::from(Ok(value.clone())),
            Parsed::Unchanged | Parsed::Content { .. } => OnceCell::new(),
        };
        Self {
            later: LaterDecoding::of(call),
            content: answer.content(),
            media_type: in_charset_of(answer, answer.media_type()),
            is_as_it_came: matches!(answer.parsed, Parsed::Unchanged),
            is_typed_by_hook: matches!(answer.parsed, Parsed::Content { media_type: Some(_), .. }),
            is_success: answer.status.is_success(),
            value,
            ahead: OnceCell::new(),
        }
    }

    /// Has a large body decoded by a heavy thread: a hook that asks for it cannot wait. What hooks look at is charged
    /// with the rows that come of it, and held until then by what this gives. Whoever holds it has nothing else decoded
    /// apart; others may decode meanwhile if there is room for them beside it.
    pub(super) async fn decode_ahead(&self, call: &Call<'_>) -> Result<Option<Reserved>, RunError> {
        let at_once = call.decoding().at_once_bytes_max(&self.media_type);
        if self.value.get().is_some() || self.content.len() <= at_once {
            return Ok(None);
        }
        let (whole, bytes) = (self.whole(), self.content.len());
        let ahead = call.decode_apart(bytes, move |decoding| whole.decode(decoding)).await?;
        let (decoded, warnings, mut reserved) = ahead;
        let made = match &decoded {
            Ok(value) => call.run.budget.weigh(value).await?,
            Err(_) => 0,
        };
        reserved.settle(made);
        // It is asked for once.
        let _ = self.ahead.set((decoded, warnings));
        Ok(Some(reserved))
    }

    fn whole(&self) -> Whole {
        Whole {
            content: self.content.clone(),
            media_type: self.media_type.clone(),
            is_typed_by_hook: self.is_typed_by_hook,
            is_success: self.is_success,
        }
    }

    /// The value by the declared format, or why there is none.
    pub(super) fn declared_value(&self) -> Result<Value, Thrown> {
        self.value().clone().map_err(|fault| Thrown(fault.message))
    }

    /// The body whose value is known already.
    pub(super) fn with_value(self, value: Value) -> Self {
        Self { is_as_it_came: false, value: OnceCell::from(Ok(value)), ..self }
    }

    /// The value, decoded now if nobody has asked before.
    pub(super) fn value(&self) -> &Result<Value, Undecodable> {
        self.value.get_or_init(|| {
            if let Some((decoded, warnings)) = self.ahead.get() {
                self.later.0.warnings.borrow_mut().extend(warnings.iter().cloned());
                return decoded.clone();
            }
            let decoded = self.later.with(|decoding| self.whole().decode(decoding));
            decoded.unwrap_or(Ok(Value::Absent))
        })
    }

    /// Neither has a hook changed anything nor has anybody asked for the value.
    pub(super) fn is_untouched(&self) -> bool {
        self.is_as_it_came && self.value.get().is_none()
    }

    /// The value if it says anything, else the text that came.
    fn value_or_text(&self) -> Value {
        match self.value() {
            Ok(value) if value.is_truthy() => value.clone(),
            _ => Value::from(lossy(&self.content)),
        }
    }

    /// The body for "patch status", which may look at it.
    pub(super) fn to_lazy(self: &Rc<Self>) -> Lazy {
        let body = Rc::clone(self);
        Lazy::new(self.content.len() * BYTE_WEIGHT, move || body.value_or_text())
    }

    /// Tells the run what decoding has warned of.
    pub(super) fn pass_warnings_on(&self, call: &Call<'_>) {
        for warning in self.later.0.warnings.take() {
            call.run.warn(warning);
        }
    }
}
