//! Structures that scripts look into level by level.
//!
//! A script gets a proxy with an empty target for each object and array. What first looks into it makes the
//! interpreter fill the target with the members of that level, scalars as they are and structures as further
//! proxies, and the proxy stands aside from then on: it costs what is looked at, and behaves like the object
//! that it becomes. A structure that comes back without anybody having looked into it is the value it was
//! made of, digits of long numbers included.
//!
//! The traps are in `kernel/views.js`, as `view`; here is what they fill targets with.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use qlio_data::{Text, Value};
use rquickjs::{Ctx, Function, Object as JsObject, Value as JsValue};

use super::convert;

thread_local! {
    /// The value that a source was last asked for without a target to fill.
    static TAKEN: Cell<Option<Value>> = const { Cell::new(None) };
}

/// The JavaScript value of `value`: a structure as a view made by the kernel's function `view`.
pub(super) fn show<'js>(
    ctx: &Ctx<'js>,
    value: &Value,
    view: &Function<'js>,
) -> rquickjs::Result<JsValue<'js>> {
    Level { ctx, view, children: None }.member(value)
}

/// Fills `target` with the members of `value`, one level deep; without a target to fill, the value is handed
/// to [`look_behind`].
pub(super) fn open<'js>(
    ctx: &Ctx<'js>,
    value: &Value,
    target: Option<&JsObject<'js>>,
    view: Option<&Function<'js>>,
) -> rquickjs::Result<()> {
    let (Some(target), Some(view)) = (target, view) else {
        TAKEN.set(Some(value.clone()));
        return Ok(());
    };
    match &*value.open() {
        Value::Array(elements) => {
            let Some(target) = target.as_array() else { return Ok(()) };
            let mut level = Level { ctx, view, children: None };
            for (at, element) in elements.iter().enumerate() {
                target.set(at, level.member(element)?)?;
            }
        }
        Value::Object(members) => {
            show_members(ctx, members.iter(), target, view)?;
        }
        _ => {}
    }
    Ok(())
}

/// Fills `target` with members, one level deep.
pub(super) fn show_members<'js, 'v>(
    ctx: &Ctx<'js>,
    members: impl Iterator<Item = (&'v Text, &'v Value)>,
    target: &JsObject<'js>,
    view: &Function<'js>,
) -> rquickjs::Result<()> {
    let mut level = Level { ctx, view, children: None };
    for (name, member) in members.filter(|(_, member)| !member.is_absent()) {
        convert::set_member(target, name, level.member(member)?)?;
    }
    Ok(())
}

/// One level while it is shown. Its structures have one function between them that opens each by number.
struct Level<'a, 'js> {
    ctx: &'a Ctx<'js>,
    view: &'a Function<'js>,
    children: Option<(Rc<RefCell<Vec<Value>>>, Function<'js>)>,
}

impl<'js> Level<'_, 'js> {
    fn member(&mut self, value: &Value) -> rquickjs::Result<JsValue<'js>> {
        if !value.is_structure() {
            return convert::scalar_to_js(self.ctx, value);
        }
        let (values, source) = match &self.children {
            Some(children) => children,
            None => self.children.insert(make_source(self.ctx)?),
        };
        let at = values.borrow().len();
        values.borrow_mut().push(value.clone());
        self.view.call((value.is_array(), source.clone(), at))
    }
}

/// A list of values, and the function that opens them.
fn make_source<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<(Rc<RefCell<Vec<Value>>>, Function<'js>)> {
    let values: Rc<RefCell<Vec<Value>>> = Rc::default();
    let held = Rc::clone(&values);
    let source = move |ctx: Ctx<'js>, at: usize, target: JsValue<'js>, view: JsValue<'js>| {
        let value = held.borrow().get(at).cloned().unwrap_or_default();
        open(&ctx, &value, target.as_object(), view.as_function())
    };
    Ok((values, Function::new(ctx.clone(), source)?))
}

/// The host's side of an object that a script hands back.
pub(super) enum Behind<'js> {
    /// It is no view.
    Nothing,
    /// A view that nobody has looked into: its value.
    Value(Value),
    /// A view that was looked into: what it has become.
    Target(JsObject<'js>),
}

/// Looks behind an object that may be a view.
pub(super) fn look_behind<'js>(
    ctx: &Ctx<'js>,
    value: &JsValue<'js>,
) -> rquickjs::Result<Behind<'js>> {
    let Some(proxy) = value.as_proxy() else { return Ok(Behind::Nothing) };
    let handler = proxy.handler()?;
    // Proxies of scripts have handlers of their own, in which this means nothing.
    let source: JsValue<'js> = handler.get("source")?;
    if source.is_null() {
        return proxy.target().map(Behind::Target);
    }
    let Some(source) = source.as_function() else { return Ok(Behind::Nothing) };
    let at: JsValue<'js> = handler.get("at")?;
    if handler.get::<_, JsValue<'js>>("written")?.is_object() {
        // What it was and what was written into it are put together when something asks for its members.
        if let Some(view) = value.as_object() {
            view.contains_key("")?;
        }
        return proxy.target().map(Behind::Target);
    }
    let nothing = || JsValue::new_undefined(ctx.clone());
    TAKEN.take();
    source.call::<_, ()>((at, nothing(), nothing()))?;
    Ok(TAKEN.take().map_or(Behind::Nothing, Behind::Value))
}
