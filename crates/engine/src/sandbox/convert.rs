//! Values across the border: plain data in, native objects of the script's realm out, and back.
//!
//! Objects are built member by member; going through JSON text costs five times as much. Both
//! directions use an explicit stack, so nesting is bounded by a number and not by our stack.

use std::{cell::OnceCell, sync::Arc};

use qlio_data::{Number, Object, Text, Value};
use rquickjs::{
    Array as JsArray, Ctx, Function, IntoJs, Object as JsObject, String as JsString,
    Value as JsValue, atom::PredefinedAtom, function::This, object::Property,
};

use super::{
    error::Fault,
    limits::SandboxLimits,
    view::{self, Behind},
};

/// How much of a value may come out of a script.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) depth: usize,
    pub(super) elements: usize,
}

impl Bounds {
    /// For values that only decorate an error.
    pub(super) const SMALL: Self = Self { depth: 32, elements: 1_000 };

    pub(super) fn of(limits: &SandboxLimits) -> Self {
        Self { depth: limits.depth, elements: limits.result_elements }
    }
}

enum Build<'js> {
    Array { target: JsArray<'js>, elements: Arc<Vec<Value>>, at: usize },
    Object { target: JsObject<'js>, members: Arc<Object>, at: usize },
}

/// Makes the JavaScript value of `value`; absent is `undefined`.
pub(super) fn to_js<'js>(
    ctx: &Ctx<'js>,
    value: &Value,
    depth_max: usize,
) -> Result<JsValue<'js>, Fault> {
    let mut stack = Vec::new();
    let root = start(ctx, value, &mut stack)?;
    while let Some(frame) = stack.last_mut() {
        // A child is put into its parent while it is still empty, and filled afterwards.
        match frame {
            Build::Array { target, elements, at } => {
                let Some(element) = elements.get(*at).cloned() else {
                    stack.pop();
                    continue;
                };
                let (index, target) = (*at, target.clone());
                *at += 1;
                target.set(index, start(ctx, &element, &mut stack)?)?;
            }
            Build::Object { target, members, at } => {
                let Some((name, member)) = members.at(*at) else {
                    stack.pop();
                    continue;
                };
                let (name, member, target) = (name.clone(), member.clone(), target.clone());
                *at += 1;
                if !member.is_absent() {
                    set_member(&target, &name, start(ctx, &member, &mut stack)?)?;
                }
            }
        }
        if stack.len() > depth_max {
            return Err(Fault::result(format!("a value is nested deeper than {depth_max} levels")));
        }
    }
    Ok(root)
}

/// Sets an own member, also when its name has a meaning of its own on objects.
pub(super) fn set_member<'js>(
    target: &JsObject<'js>,
    name: &str,
    value: JsValue<'js>,
) -> rquickjs::Result<()> {
    if name == "__proto__" {
        target.prop(name, Property::from(value).writable().enumerable().configurable())
    } else {
        target.set(name, value)
    }
}

/// A scalar at once; of a structure the empty object, with the rest of the work put on the stack.
fn start<'js>(
    ctx: &Ctx<'js>,
    value: &Value,
    stack: &mut Vec<Build<'js>>,
) -> Result<JsValue<'js>, Fault> {
    Ok(match value {
        Value::Array(elements) => {
            let target = JsArray::new(ctx.clone())?;
            let made = target.clone().into_value();
            stack.push(Build::Array { target, elements: Arc::clone(elements), at: 0 });
            made
        }
        Value::Object(members) => {
            let target = JsObject::new(ctx.clone())?;
            let made = target.clone().into_value();
            stack.push(Build::Object { target, members: Arc::clone(members), at: 0 });
            made
        }
        // Decoded all the way at once: everything of it is about to be built.
        Value::Raw(_) => match value.into_tree() {
            Value::Raw(_) => JsValue::new_undefined(ctx.clone()),
            tree => return start(ctx, &tree, stack),
        },
        scalar => scalar_to_js(ctx, scalar)?,
    })
}

/// The JavaScript value of a scalar; what is absent, or no scalar, is `undefined`.
pub(super) fn scalar_to_js<'js>(ctx: &Ctx<'js>, value: &Value) -> rquickjs::Result<JsValue<'js>> {
    Ok(match value {
        Value::Null => JsValue::new_null(ctx.clone()),
        Value::Bool(flag) => JsValue::new_bool(ctx.clone(), *flag),
        Value::Number(number) => JsValue::new_number(ctx.clone(), number.as_f64()),
        Value::String(text) => JsString::from_str(ctx.clone(), text)?.into_value(),
        Value::Absent | Value::Array(_) | Value::Object(_) | Value::Raw(_) => {
            JsValue::new_undefined(ctx.clone())
        }
    })
}

enum Read<'js> {
    Array {
        source: JsArray<'js>,
        length: usize,
        out: Vec<Value>,
    },
    Object {
        source: JsObject<'js>,
        names: std::vec::IntoIter<JsString<'js>>,
        name: String,
        out: Object,
    },
}

/// Makes a plain value: functions, symbols and `undefined` are absent, not-a-number is null,
/// objects with `toJSON` are asked, cycles are an error.
pub(super) fn from_js<'js>(
    ctx: &Ctx<'js>,
    value: &JsValue<'js>,
    bounds: &Bounds,
) -> Result<Value, Fault> {
    let mut stack: Vec<Read<'js>> = Vec::new();
    let mut elements_left = bounds.elements;
    let mut current = value.clone();
    let plain = OnceCell::new();
    loop {
        let mut complete = open(ctx, &current, &mut stack, bounds, &plain)?;
        if stack.len() > bounds.depth {
            return Err(Fault::result(format!(
                "the value refers to itself or is nested deeper than {} levels",
                bounds.depth
            )));
        }
        // Hand what is complete to its parent, and go up as long as parents become complete.
        current = loop {
            if let Some(value) = complete.take() {
                match stack.last_mut() {
                    None => return Ok(value),
                    Some(Read::Array { out, .. }) => out.push(value),
                    Some(Read::Object { name, out, .. }) => {
                        if !value.is_absent() {
                            out.insert(std::mem::take(name), value);
                        }
                    }
                }
            }
            match advance(&mut stack, &mut elements_left, bounds)? {
                Some(child) => break child,
                None => complete = Some(close(&mut stack)),
            }
        };
    }
}

/// The value if it is a scalar; otherwise a frame is pushed.
fn open<'js>(
    ctx: &Ctx<'js>,
    value: &JsValue<'js>,
    stack: &mut Vec<Read<'js>>,
    bounds: &Bounds,
    plain: &Plain<'js>,
) -> Result<Option<Value>, Fault> {
    if let Some(scalar) = scalar(ctx, value)? {
        return Ok(Some(scalar));
    }
    let Some(object) = value.as_object() else { return Ok(Some(Value::Absent)) };
    if value.is_function() {
        return Ok(Some(Value::Absent));
    }
    // It would be an empty object: a value that is lost without a word.
    if value.is_promise() {
        return Err(promise_inside());
    }
    let target;
    let object = match view::look_behind(ctx, value)? {
        Behind::Nothing => object,
        Behind::Value(value) => return Ok(Some(value)),
        Behind::Target(found) => {
            target = found;
            &target
        }
    };
    if let Some(array) = object.as_array() {
        stack.push(read_array(array, bounds)?);
        return Ok(None);
    }
    let custom: JsValue<'js> = object.get(PredefinedAtom::ToJSON)?;
    let mut object = object.clone();
    if let Some(to_json) = custom.as_function() {
        let replaced: JsValue<'js> = to_json.call((This(object.clone()), ""))?;
        if let Some(scalar) = scalar(ctx, &replaced)? {
            return Ok(Some(scalar));
        }
        if replaced.is_function() {
            return Ok(Some(Value::Absent));
        }
        if let Some(array) = replaced.as_array() {
            stack.push(read_array(array, bounds)?);
            return Ok(None);
        }
        if replaced.is_promise() {
            return Err(promise_inside());
        }
        let Some(replacement) = replaced.into_object() else { return Ok(Some(Value::Absent)) };
        object = replacement;
    }
    if !is_plain(ctx, &object, plain)?
        && let Some(inner) = boxed_scalar(ctx, &object)?
    {
        return Ok(Some(inner));
    }
    let names = object.keys::<JsValue<'js>>();
    let mut texts = Vec::with_capacity(names.len());
    for name in names {
        if let Ok(name) = name?.try_into_string() {
            texts.push(name);
        }
    }
    stack.push(Read::Object {
        source: object,
        out: Object::with_capacity(texts.len()),
        names: texts.into_iter(),
        name: String::new(),
    });
    Ok(None)
}

fn promise_inside() -> Fault {
    Fault::result("a promise inside of the value is not waited for: answer when it has ended")
}

/// Starts on an array; a length beyond the bounds is refused before anything is read.
fn read_array<'js>(array: &JsArray<'js>, bounds: &Bounds) -> Result<Read<'js>, Fault> {
    let length: f64 = array.as_object().get(PredefinedAtom::Length)?;
    #[expect(clippy::cast_precision_loss, reason = "a limit of a few million")]
    if length > bounds.elements as f64 {
        return Err(too_many(bounds));
    }
    #[expect(clippy::cast_sign_loss, reason = "lengths of arrays are never negative")]
    Ok(Read::Array { source: array.clone(), length: length as usize, out: Vec::new() })
}

fn too_many(bounds: &Bounds) -> Fault {
    Fault::result(format!("the value has more than {} members and elements", bounds.elements))
}

/// The next child of the innermost frame; `None` when the frame is complete.
fn advance<'js>(
    stack: &mut [Read<'js>],
    elements_left: &mut usize,
    bounds: &Bounds,
) -> Result<Option<JsValue<'js>>, Fault> {
    let child = match stack.last_mut() {
        None => None,
        Some(Read::Array { source, length, out }) => {
            if out.len() < *length {
                Some(source.get(out.len())?)
            } else {
                None
            }
        }
        Some(Read::Object { source, names, name, .. }) => match names.next() {
            Some(next) => {
                *name = string_text(source.ctx(), &next)?;
                Some(source.get(next.into_value())?)
            }
            None => None,
        },
    };
    if child.is_some() {
        let Some(left) = elements_left.checked_sub(1) else {
            return Err(too_many(bounds));
        };
        *elements_left = left;
    }
    Ok(child)
}

fn close(stack: &mut Vec<Read<'_>>) -> Value {
    match stack.pop() {
        Some(Read::Array { out, .. }) => Value::array(out),
        Some(Read::Object { out, .. }) => Value::object(out),
        None => Value::Absent,
    }
}

fn scalar<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> Result<Option<Value>, Fault> {
    if let Some(text) = value.as_string() {
        return Ok(Some(Value::String(string_text(ctx, text)?.into())));
    }
    if let Some(whole) = value.as_int() {
        return Ok(Some(Value::from(whole)));
    }
    if let Some(number) = value.as_number() {
        return Ok(Some(number_value(number)));
    }
    if let Some(flag) = value.as_bool() {
        return Ok(Some(Value::Bool(flag)));
    }
    if value.is_null() {
        return Ok(Some(Value::Null));
    }
    if value.is_big_int() {
        let digits: rquickjs::Coerced<String> = value.get()?;
        return Ok(Some(Value::Number(Number::Source(Text::from(digits.0)))));
    }
    Ok(if value.is_object() { None } else { Some(Value::Absent) })
}

fn number_value(number: f64) -> Value {
    if !number.is_finite() {
        return Value::Null;
    }
    Value::Number(match Number::Float(number).as_i64() {
        Some(whole) => Number::Int(whole),
        None => Number::Float(number),
    })
}

/// What objects of the interpreter inherit from if nothing else is said, once that has been asked.
type Plain<'js> = OnceCell<Option<JsObject<'js>>>;

/// Whether an object inherits from nothing but that, as nearly all do: then it is no boxed scalar. To ask that of
/// three classes takes longer than to read a small object.
fn is_plain<'js>(
    ctx: &Ctx<'js>,
    object: &JsObject<'js>,
    plain: &Plain<'js>,
) -> Result<bool, Fault> {
    // A proxy of a script would run code of the script.
    if object.as_proxy().is_some() {
        return Ok(false);
    }
    if plain.get().is_none() {
        let _ = plain.set(JsObject::new(ctx.clone())?.get_prototype());
    }
    Ok(plain.get().is_some_and(|plain| object.get_prototype() == *plain))
}

/// `new String('x')` and its like count as what they hold.
fn boxed_scalar<'js>(ctx: &Ctx<'js>, object: &JsObject<'js>) -> Result<Option<Value>, Fault> {
    for class in [PredefinedAtom::String, PredefinedAtom::Number, PredefinedAtom::Boolean] {
        let constructor: JsValue<'js> = ctx.globals().get(class)?;
        if constructor.is_object() && object.is_instance_of(&constructor) {
            let value_of: JsValue<'js> = object.get(PredefinedAtom::ValueOf)?;
            let Some(value_of) = value_of.as_function() else { return Ok(None) };
            let inner: JsValue<'js> = value_of.call((This(object.clone()),))?;
            return scalar(ctx, &inner);
        }
    }
    Ok(None)
}

/// The text of a string; lone surrogates become U+FFFD.
pub(super) fn string_text<'js>(ctx: &Ctx<'js>, text: &JsString<'js>) -> rquickjs::Result<String> {
    match text.to_string() {
        Err(rquickjs::Error::Utf8(_)) => {
            let class: JsObject<'js> = ctx.globals().get(PredefinedAtom::String)?;
            let prototype: JsObject<'js> = class.get(PredefinedAtom::Prototype)?;
            let repair: Function<'js> = prototype.get("toWellFormed")?;
            let repaired: JsString<'js> = repair.call((This(text.clone()),))?;
            repaired.to_string()
        }
        other => other,
    }
}

/// The text of a thrown scalar, without running any script.
pub(super) fn scalar_text(value: &JsValue<'_>) -> String {
    if let Some(text) = value.as_string() {
        return string_text(value.ctx(), text).unwrap_or_default();
    }
    if let Some(number) = value.as_number() {
        return Number::Float(number).to_shortest();
    }
    if let Some(flag) = value.as_bool() {
        return flag.to_string();
    }
    if value.is_null() { "null".to_owned() } else { "undefined".to_owned() }
}

/// The text of a thrown object that has no message: its JSON.
pub(super) fn describe<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> String {
    let text = match ctx.json_stringify(value.clone()) {
        Ok(Some(text)) => string_text(ctx, &text).ok(),
        _ => None,
    };
    if ctx.has_exception() {
        ctx.catch();
    }
    text.unwrap_or_else(|| "an object".to_owned())
}

/// About how many bytes `value` takes inside the interpreter.
pub(super) fn weight(value: &Value) -> usize {
    const NODE: usize = 64;
    let mut total = 0usize;
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        total = total.saturating_add(match value {
            Value::String(text) => NODE + text.len() * 2,
            Value::Raw(text) => NODE + text.len() * 12,
            Value::Array(elements) => {
                stack.extend(elements.iter());
                2 * NODE + elements.len() * 16
            }
            Value::Object(members) => {
                for (name, member) in members.iter() {
                    total = total.saturating_add(NODE + name.len());
                    stack.push(member);
                }
                2 * NODE
            }
            _ => 16,
        });
    }
    total
}

/// A text as a JavaScript value.
pub(super) fn js_text<'js>(ctx: &Ctx<'js>, text: &str) -> rquickjs::Result<JsValue<'js>> {
    JsString::from_str(ctx.clone(), text)?.into_js(ctx)
}
