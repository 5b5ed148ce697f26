//! What tokens of a table read of large variables, found before they ask (`docs/adr/0027-heavy-threads.md`).
//!
//! In: the verb of a statement and the variables of its run. Out: the values of the dotted names that lead into
//! large ones. To find them in text takes as long as the variable is large, and a template cannot wait; so a heavy
//! thread does it first.

use qlio_data::{
    Value,
    params::{self, Manner, Params},
};

use super::Call;
use crate::{
    clock,
    error::RunError,
    lookups::{FoundToken, is_large},
};

/// A variable as the only parameter.
struct Only<'v> {
    name: &'v str,
    value: &'v Value,
}

impl Params for Only<'_> {
    fn get(&self, name: &str) -> Value {
        if name == self.name { self.value.clone() } else { Value::Absent }
    }

    fn default(&self, _: &str) -> Value {
        Value::Absent
    }
}

impl Call<'_> {
    /// Finds what the tokens of the verb read of variables that are so large that they could not do it themselves.
    ///
    /// # Errors
    /// As many jobs wait for a heavy thread as may; a limit of the run.
    pub(super) async fn find_ahead(&self) -> Result<Vec<FoundToken>, RunError> {
        let mut sought = Vec::new();
        for (symbol, value) in self.run.plan.symbols.iter().zip(&*self.run.slots.borrow()) {
            if is_large(value) {
                let root = symbol.name.to_string();
                let names = self.names_below(&root);
                if !names.is_empty() {
                    sought.push((root, value.clone(), names));
                }
            }
        }
        if sought.is_empty() {
            return Ok(Vec::new());
        }
        self.run.has_large_values.set(true);
        let time_left = self.run.budget.time_left();
        let find = move |root: &str, value: &Value, (name, manner): &(String, Manner)| {
            let params = Only { name: root, value };
            let value = match manner {
                Manner::FirstElement => params::lookup_given(&params, name),
                Manner::Plain => params::lookup_text(&params, name),
            };
            FoundToken::new(name.clone(), *manner, value)
        };
        let found = self.run.heavy(move |wanted| {
            let began = clock::thread_us();
            let may_go_on = || wanted.is_wanted() && clock::thread_us() - began <= time_left;
            let mut found = Vec::new();
            for (root, value, names) in &sought {
                let names = names.iter().take_while(|_| may_go_on());
                found.extend(names.map(|name| find(root, value, name)));
            }
            found
        });
        let found = found.await?;
        for token in &found {
            self.run.budget.charge_value(token.value()).await?;
        }
        Ok(found)
    }

    /// The dotted names below a variable that tokens of URI, headers and form have.
    fn names_below(&self, root: &str) -> Vec<(String, Manner)> {
        let verb = self.verb;
        let is_below =
            |name: &str| name.strip_prefix(root).is_some_and(|rest| rest.starts_with('.'));
        let form = verb.body.as_ref().and_then(|body| body.form.as_ref()?.as_ref().ok());
        let of_form = form.map_or(&[][..], |form| form.tokens());
        let tokens = verb.uri.tokens().iter().chain(of_form).map(|token| &token.name);
        let tokens = tokens.filter(|name| is_below(name));
        let mut names: Vec<_> = tokens.map(|name| (name.clone(), Manner::FirstElement)).collect();
        for (_, template) in &verb.headers {
            for path in template.paths_below(root) {
                let steps: Vec<&str> = path.iter().map(|step| &**step).collect();
                names.push((format!("{root}.{}", steps.join(".")), Manner::Plain));
            }
        }
        names
    }
}
