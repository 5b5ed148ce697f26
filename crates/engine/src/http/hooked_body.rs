//! The body of an answer as hooks may look at it: decoded when the first of them does.
//!
//! In: an answer after "parse response", and what the hooks before have made of its media type. Out: its
//! value, once somebody asks. Hooks run while the run cannot be reached, so what decoding needs of it is held
//! here, and what it warns of is kept until the hook has ended.

use std::{
    cell::{OnceCell, RefCell},
    rc::Rc,
    sync::Arc,
};

use bytes::Bytes;
use qlio_data::{
    Value,
    codec::{media_type::MediaType, xml::Coerce},
    projection::Projection,
};
use qlio_plan::catalog::Table;
use qlio_syntax::ast::VerbKind;

use super::{
    Call,
    answer::{Answer, in_charset_of, lossy},
    decoding::{Decoding, Undecodable, Warnings},
};
use crate::sandbox::{Lazy, Parsed};

/// About how many bytes of the interpreter one byte of a body takes when all of it has been looked at.
const BYTE_WEIGHT: usize = 12;

/// What decoding needs, held until it is needed. Cheap to clone.
#[derive(Clone)]
pub(super) struct LaterDecoding(Rc<Held>);

struct Held {
    table: Arc<Table>,
    kind: VerbKind,
    xml_coerce: Coerce,
    decoded_bytes_max: usize,
    warnings: RefCell<Vec<String>>,
}

impl LaterDecoding {
    fn of(call: &Call<'_>) -> Self {
        let settings = call.run.engine.settings();
        Self(Rc::new(Held {
            table: Arc::clone(call.table),
            kind: call.kind,
            xml_coerce: settings.xml_coerce,
            decoded_bytes_max: settings.decoded_bytes_max,
            warnings: RefCell::default(),
        }))
    }

    /// Decodes now; `None` only if the table had no such verb.
    pub(super) fn with<R>(&self, decode: impl FnOnce(&Decoding<'_>) -> R) -> Option<R> {
        let held = &*self.0;
        let verb = held.table.verb(held.kind)?;
        Some(decode(&Decoding {
            verb,
            table: &held.table.name,
            xml_coerce: held.xml_coerce,
            decoded_bytes_max: held.decoded_bytes_max,
            warnings: Warnings::Kept(&held.warnings),
        }))
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
        }
    }

    /// The value by the declared format, or why there is none.
    pub(super) fn declared_value(&self) -> Result<Value, String> {
        self.value().clone().map_err(|fault| fault.message)
    }

    /// The body whose value is known already.
    pub(super) fn with_value(self, value: Value) -> Self {
        Self { is_as_it_came: false, value: OnceCell::from(Ok(value)), ..self }
    }

    /// The value, decoded now if nobody has asked before.
    pub(super) fn value(&self) -> &Result<Value, Undecodable> {
        self.value.get_or_init(|| {
            let (content, media_type) = (self.content.clone(), &self.media_type);
            let decoded = self.later.with(|decoding| {
                if self.is_typed_by_hook {
                    decoding.decode_by_type(content, media_type, &Projection::All)
                } else {
                    decoding.decode(content, media_type, &Projection::All, self.is_success)
                }
            });
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
