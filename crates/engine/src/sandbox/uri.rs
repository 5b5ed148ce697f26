//! Host services for mutable URIs (HOK-6): they are taken apart and put together here; their parameters are an
//! object of the script.
#![expect(clippy::needless_pass_by_value, reason = "the interpreter hands arguments over by value")]

use qlio_data::mutable_uri::{MutableUri, UriText};
use rquickjs::{
    Array as JsArray, Coerced, Ctx, Exception, Function, Object as JsObject, String as JsString,
    Value as JsValue, atom::PredefinedAtom, function::Opt,
};

use super::convert;

/// Bytes of a URI that is put together; no server takes as long a one.
const URI_BYTES_MAX: usize = 1 << 20;

/// Adds the services to the object that the kernel gets.
pub(super) fn add<'js>(ctx: &Ctx<'js>, services: &JsObject<'js>) -> rquickjs::Result<()> {
    services.set("takeUri", Function::new(ctx.clone(), take)?)?;
    services.set("uriText", Function::new(ctx.clone(), put_together)?)?;
    services.set("editedUri", Function::new(ctx.clone(), edit)?)
}

/// Puts the parameters of a URI into `params`, and gives all the rest as the text of a URI.
fn take<'js>(
    ctx: Ctx<'js>,
    text: JsString<'js>,
    params: JsObject<'js>,
) -> rquickjs::Result<String> {
    let text = convert::string_text(&ctx, &text)?;
    let uri = MutableUri::parse(text.trim());
    for values in uri.params.chunk_by(|one, other| one.0 == other.0) {
        let value = if let [(_, only)] = values {
            JsString::from_str(ctx.clone(), only)?.into_value()
        } else {
            let list = JsArray::new(ctx.clone())?;
            for (at, (_, value)) in values.iter().enumerate() {
                list.set(at, &**value)?;
            }
            list.into_value()
        };
        convert::set_member(&params, &values[0].0, value)?;
    }
    Ok(UriText::new(uri.base).finish(uri.fragment.as_deref()))
}

/// The text of a URI that has been taken apart, with the parameters as they are now.
fn put_together<'js>(
    ctx: Ctx<'js>,
    frame: String,
    params: JsObject<'js>,
) -> rquickjs::Result<String> {
    let (base, fragment) = match frame.split_once('#') {
        Some((base, fragment)) => (base.to_owned(), Some(fragment)),
        None => (frame.clone(), None),
    };
    let mut uri = UriText::new(base);
    for member in params.props::<JsString<'js>, JsValue<'js>>() {
        let (name, value) = member?;
        let name = convert::string_text(&ctx, &name)?;
        let Some(list) = value.as_array() else {
            push_param(&ctx, &mut uri, &name, &printed(&value)?)?;
            continue;
        };
        for element in list.iter::<JsValue<'js>>() {
            push_param(&ctx, &mut uri, &name, &printed(&element?)?)?;
        }
    }
    Ok(uri.finish(fragment))
}

/// Appends a parameter, or refuses a URI that is too long.
fn push_param(ctx: &Ctx<'_>, uri: &mut UriText, name: &str, value: &str) -> rquickjs::Result<()> {
    uri.push_param(name, value);
    if uri.len() > URI_BYTES_MAX {
        let message = format!("the URI is longer than {URI_BYTES_MAX} bytes");
        return Err(Exception::throw_range(ctx, &message));
    }
    Ok(())
}

/// The normal form of a URI after parameters were set and added: an operation, a name and a value in turn (see
/// `EDITS` in `modules/mutable_uri.js`).
fn edit<'js>(
    ctx: Ctx<'js>,
    text: JsString<'js>,
    edits: Opt<JsValue<'js>>,
) -> rquickjs::Result<String> {
    let text = convert::string_text(&ctx, &text)?;
    let mut uri = MutableUri::parse(text.trim());
    if let Some(edits) = edits.0.as_ref().and_then(JsValue::as_array) {
        let mut edits = edits.iter::<JsValue<'js>>();
        while let (Some(operation), Some(name), Some(value)) =
            (edits.next(), edits.next(), edits.next())
        {
            let (name, value) = (printed(&name?)?, printed(&value?)?);
            match operation?.as_int() {
                Some(0) => uri.set_param(name, value),
                _ => uri.add_param(name, value),
            }
        }
    }
    let mut edited = UriText::new(uri.base);
    for (name, value) in &uri.params {
        push_param(&ctx, &mut edited, name, value)?;
    }
    Ok(edited.finish(uri.fragment.as_deref()))
}

/// Scalars print; what else a script put among the parameters is empty.
fn printed(value: &JsValue<'_>) -> rquickjs::Result<String> {
    let ctx = value.ctx();
    if let Some(text) = value.as_string() {
        return convert::string_text(ctx, text);
    }
    if let Some(number) = value.as_int() {
        return Ok(number.to_string());
    }
    let is_printed = value.is_number() || value.is_bool() || value.is_big_int() || {
        let class: JsObject<'_> = ctx.globals().get(PredefinedAtom::String)?;
        value.as_object().is_some_and(|object| object.is_instance_of(&class))
    };
    if is_printed { Ok(value.get::<Coerced<String>>()?.0) } else { Ok(String::new()) }
}
