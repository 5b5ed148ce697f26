//! Host services for mutable URIs (HOK-6): they are taken apart and put together here; their parameters are an
//! object of the script.
#![expect(clippy::needless_pass_by_value, reason = "the interpreter hands arguments over by value")]

use qlio_data::{
    Text,
    mutable_uri::{self, MutableUri, UriText},
};
use rquickjs::{
    Array as JsArray, Coerced, Ctx, Exception, Function, Object as JsObject, String as JsString,
    Value as JsValue, atom::PredefinedAtom,
};

use super::convert;

/// Bytes of a URI that is put together; no server takes as long a one.
const URI_BYTES_MAX: usize = 1 << 20;

/// Adds the services to the object that the kernel gets.
pub(super) fn add<'js>(ctx: &Ctx<'js>, services: &JsObject<'js>) -> rquickjs::Result<()> {
    services.set("takeUri", Function::new(ctx.clone(), take)?)?;
    services.set("uriText", Function::new(ctx.clone(), put_together)?)?;
    services.set("normalUri", Function::new(ctx.clone(), normalise)?)
}

/// Puts the parameters of a URI into `params`, and gives all the rest as the text of a URI.
fn take<'js>(
    ctx: Ctx<'js>,
    text: JsString<'js>,
    params: JsObject<'js>,
) -> rquickjs::Result<String> {
    let uri = MutableUri::parse(convert::string_text(&ctx, &text)?.trim());
    let text_of = |text: &Text| JsString::from_str(ctx.clone(), text);
    for (name, values) in &uri.params {
        let value = if let [only] = values.as_slice() {
            text_of(only)?.into_value()
        } else {
            let list = JsArray::new(ctx.clone())?;
            for (at, value) in values.iter().enumerate() {
                list.set(at, text_of(value)?)?;
            }
            list.into_value()
        };
        convert::set_member(&params, name, value)?;
    }
    Ok(UriText::new(uri.base).finish(uri.fragment.as_deref()))
}

/// The text of a URI that has been taken apart, with the parameters as they are now.
fn put_together<'js>(
    ctx: Ctx<'js>,
    frame: String,
    params: JsObject<'js>,
) -> rquickjs::Result<String> {
    let refuse_long = |uri: &UriText| {
        let message = format!("the URI is longer than {URI_BYTES_MAX} bytes");
        if uri.len() > URI_BYTES_MAX { Err(Exception::throw_range(&ctx, &message)) } else { Ok(()) }
    };
    let (base, fragment) = match frame.split_once('#') {
        Some((base, fragment)) => (base.to_owned(), Some(fragment)),
        None => (frame.clone(), None),
    };
    let mut uri = UriText::new(base);
    for member in params.props::<JsString<'js>, JsValue<'js>>() {
        let (name, value) = member?;
        let name = convert::string_text(&ctx, &name)?;
        let Some(list) = value.as_array() else {
            uri.push_param(&name, &printed(&value)?);
            refuse_long(&uri)?;
            continue;
        };
        for element in list.iter::<JsValue<'js>>() {
            uri.push_param(&name, &printed(&element?)?);
            refuse_long(&uri)?;
        }
    }
    Ok(uri.finish(fragment))
}

/// Scalars print; what else a script put among the parameters is empty.
fn printed(value: &JsValue<'_>) -> rquickjs::Result<String> {
    let ctx = value.ctx();
    if let Some(text) = value.as_string() {
        return convert::string_text(ctx, text);
    }
    let is_printed = value.is_number() || value.is_bool() || value.is_big_int() || {
        let class: JsObject<'_> = ctx.globals().get(PredefinedAtom::String)?;
        value.as_object().is_some_and(|object| object.is_instance_of(&class))
    };
    if is_printed { Ok(value.get::<Coerced<String>>()?.0) } else { Ok(String::new()) }
}

fn normalise<'js>(ctx: Ctx<'js>, text: JsString<'js>) -> rquickjs::Result<String> {
    Ok(mutable_uri::normalize(convert::string_text(&ctx, &text)?.trim()))
}
