//! What a template reads of a variable, apart from the template.
//!
//! In: a template whose roots are bound. Out: each path below a script variable that needs nothing else, to be found
//! in a value at another time and on another thread than the template is filled.

use super::{Piece, Reference, Rest, Template, TokenPath, fill};
use crate::{Text, Value, scope::SlotId};

/// A path below a script variable.
#[derive(Debug, Clone, PartialEq)]
pub struct Lookup {
    slot: SlotId,
    reference: Reference,
}

impl Template {
    /// The paths below script variables that can be found without any other variable, nested ones included; a name
    /// alone is none.
    pub fn lookups(&self) -> Vec<Lookup> {
        let mut lookups = Vec::new();
        add_lookups(&self.pieces, &mut lookups);
        lookups
    }
}

impl Lookup {
    /// The variable.
    pub fn slot(&self) -> SlotId {
        self.slot
    }

    /// The path as it is asked for while a template is filled, the variable's name included.
    pub fn path(&self) -> &Text {
        &self.reference.text
    }

    /// What it finds in a value of the variable; nothing if that fails, so that it fails where it is asked for.
    pub fn find(&self, root: &Value) -> Option<Value> {
        fill::found_alone(&self.reference, root).ok()
    }
}

fn add_lookups(pieces: &[Piece], lookups: &mut Vec<Lookup>) {
    for piece in pieces {
        let Piece::Token(token) = piece else { continue };
        match &token.path {
            TokenPath::Static(reference) => lookups.extend(lookup(reference)),
            TokenPath::Dynamic { pieces, .. } => add_lookups(pieces, lookups),
        }
    }
}

fn lookup(reference: &Reference) -> Option<Lookup> {
    let slot = reference.root.slot?;
    let is_alone = match &reference.rest {
        Rest::Dotted { path, .. } | Rest::Bracketed(path) => path.variables().is_empty(),
        Rest::Nothing | Rest::Broken(_) => false,
    };
    is_alone.then(|| Lookup { slot, reference: reference.clone() })
}
