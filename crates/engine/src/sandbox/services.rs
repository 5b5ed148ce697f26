//! Host services behind bundled modules: mustache, URI templates and Protocol Buffers run on the
//! same code as everywhere else in the engine.

use std::{cell::RefCell, rc::Rc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use qlio_data::{
    Object, Value,
    codec::{
        DecodeLimits,
        protobuf::{self, Mapping, ProtobufOptions, Schema},
    },
    params::Params,
    uri_template::UriTemplate,
};
use rquickjs::{Ctx, Exception, Function, Object as JsObject, Value as JsValue};

use super::{
    convert::{self, Bounds},
    error::Fault,
    instance::{HostState, byte_array},
};
use crate::body::{
    escape::Escape,
    mustache::{Found, Mustache},
};

/// Schemas that one realm may hold.
const SCHEMAS_MAX: usize = 64;

/// Adds the services to the object that the kernel gets.
pub(super) fn add<'js>(
    ctx: &Ctx<'js>,
    services: &JsObject<'js>,
    host: &Rc<HostState>,
) -> rquickjs::Result<()> {
    let state = Rc::clone(host);
    let mustache = move |ctx: Ctx<'js>, template: String, view: JsValue<'js>| {
        let view = value_of(&ctx, &state, &view)?;
        let template =
            Mustache::parse(&template, Escape::Markup).map_err(|error| throw(&ctx, &error))?;
        template.render(&Found::Value(view)).map_err(|error| throw(&ctx, &error))
    };
    services.set("mustache", Function::new(ctx.clone(), mustache)?)?;
    services.set("uriTokens", Function::new(ctx.clone(), uri_tokens)?)?;
    let state = Rc::clone(host);
    let expand = move |ctx: Ctx<'js>, text: String, bag: JsValue<'js>, defaults: JsValue<'js>| {
        let template = UriTemplate::parse(&text).map_err(|error| throw(&ctx, &error))?;
        let params = Bag {
            bag: members(value_of(&ctx, &state, &bag)?),
            defaults: members(value_of(&ctx, &state, &defaults)?),
        };
        let expansion = template.expand(&params).map_err(|error| throw(&ctx, &error))?;
        Ok::<_, rquickjs::Error>(expansion.uris)
    };
    services.set("uriExpand", Function::new(ctx.clone(), expand)?)?;
    add_protobuf(ctx, services, host)
}

fn add_protobuf<'js>(
    ctx: &Ctx<'js>,
    services: &JsObject<'js>,
    host: &Rc<HostState>,
) -> rquickjs::Result<()> {
    let schemas: Rc<RefCell<Vec<Schema>>> = Rc::default();
    let held = Rc::clone(&schemas);
    let load = move |ctx: Ctx<'js>, base64: String| {
        let bytes = STANDARD.decode(base64).map_err(|error| throw(&ctx, &error))?;
        let schema = Schema::from_descriptor_set(&bytes).map_err(|error| throw(&ctx, &error))?;
        let names: Vec<String> = schema.message_names().iter().map(|&name| name.into()).collect();
        let mut schemas = held.borrow_mut();
        if schemas.len() >= SCHEMAS_MAX {
            return Err(throw(&ctx, &"too many schemas"));
        }
        schemas.push(schema);
        let found = JsObject::new(ctx.clone())?;
        found.set("id", schemas.len() - 1)?;
        found.set("names", names)?;
        Ok::<_, rquickjs::Error>(found)
    };
    services.set("protobufLoad", Function::new(ctx.clone(), load)?)?;
    let (held, state) = (Rc::clone(&schemas), Rc::clone(host));
    let decode = move |ctx: Ctx<'js>, id: usize, name: String, base64: String| {
        let bytes = STANDARD.decode(base64).map_err(|error| throw(&ctx, &error))?;
        let message = held.borrow().get(id).and_then(|schema| schema.message(&name));
        let message = message.ok_or_else(|| throw(&ctx, &"no such message"))?;
        let options = ProtobufOptions { mapping: Mapping::LowLevel, ..ProtobufOptions::default() };
        let limits = DecodeLimits::default();
        let value = protobuf::decode_tree(Bytes::from(bytes), &message, &options, &limits)
            .map_err(|error| throw(&ctx, &error))?;
        convert::to_js(&ctx, &value, state.depth_max).map_err(|fault| thrown(&ctx, fault))
    };
    services.set("protobufDecode", Function::new(ctx.clone(), decode)?)?;
    let state = Rc::clone(host);
    let encode = move |ctx: Ctx<'js>, id: usize, name: String, value: JsValue<'js>| {
        let message = schemas.borrow().get(id).and_then(|schema| schema.message(&name));
        let message = message.ok_or_else(|| throw(&ctx, &"no such message"))?;
        let value = value_of(&ctx, &state, &value)?;
        let bytes = protobuf::encode(&value, &message).map_err(|error| throw(&ctx, &error))?;
        byte_array(&ctx, &bytes)
    };
    services.set("protobufEncode", Function::new(ctx.clone(), encode)?)
}

/// The tokens of a URI template, and whether its answers are merged as blocks.
#[expect(clippy::needless_pass_by_value, reason = "the interpreter hands arguments over by value")]
fn uri_tokens(ctx: Ctx<'_>, text: String) -> rquickjs::Result<JsObject<'_>> {
    let template = UriTemplate::parse(&text).map_err(|error| throw(&ctx, &error))?;
    let found = JsObject::new(ctx.clone())?;
    let mut tokens = Vec::new();
    for token in template.tokens() {
        let described = JsObject::new(ctx.clone())?;
        described.set("variable", token.name.as_str())?;
        described.set("required", token.is_required)?;
        described.set("multivalued", token.is_multi)?;
        described.set("max", token.max)?;
        tokens.push(described);
    }
    found.set("tokens", tokens)?;
    found.set("isBlock", template.is_block_merge())?;
    Ok(found)
}

struct Bag {
    bag: Object,
    defaults: Object,
}

impl Params for Bag {
    fn get(&self, name: &str) -> Value {
        self.bag.get(name).cloned().unwrap_or_default()
    }

    fn default(&self, name: &str) -> Value {
        self.defaults.get(name).cloned().unwrap_or_default()
    }
}

fn members(value: Value) -> Object {
    match value {
        Value::Object(members) => std::sync::Arc::unwrap_or_clone(members),
        _ => Object::new(),
    }
}

fn value_of<'js>(
    ctx: &Ctx<'js>,
    state: &HostState,
    value: &JsValue<'js>,
) -> rquickjs::Result<Value> {
    let bounds = Bounds { depth: state.depth_max, elements: state.elements_max };
    convert::from_js(ctx, value, &bounds).map_err(|fault| thrown(ctx, fault))
}

fn throw(ctx: &Ctx<'_>, reason: &dyn std::fmt::Display) -> rquickjs::Error {
    Exception::throw_message(ctx, &reason.to_string())
}

/// A fault as something that the script can catch.
pub(super) fn thrown(ctx: &Ctx<'_>, fault: Fault) -> rquickjs::Error {
    match fault {
        Fault::Js(error) => error,
        Fault::Own(_, message) => throw(ctx, &message),
    }
}
