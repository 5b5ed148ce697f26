//! Template strings: text with tokens such as `{boat.name}` (TOK-1).
//!
//! In: the text, once; then a [`Scope`], as often as needed. Out: a value. A string that is one
//! token becomes the token's value (scalars as text, `{=x}` with their type, structures as they
//! are); in any other string the tokens that resolve are replaced by text and the others stay as
//! written. Filled-in values are never expanded again.
//!
//! Parsing never fails: what is no token is text. Tokens nest up to [`NESTING_MAX`]. URI templates
//! have their own module and their own rules.

mod fill;
mod lookup;
mod parse;

pub use lookup::Lookup;

use crate::{
    Scope, Text, Value,
    path::{Path, PathError},
    scope::SlotId,
};

/// The deepest nesting of braces; a string with more is plain text.
pub const NESTING_MAX: usize = 32;

/// A parsed template string.
#[derive(Debug, Clone, PartialEq)]
pub struct Template {
    text: Text,
    pieces: Vec<Piece>,
    is_malformed: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Literal(Text),
    Token(Token),
}

/// A reference token.
#[derive(Debug, Clone, PartialEq)]
struct Token {
    /// The token as written, braces included.
    written: Text,
    /// `=`: keep the type.
    is_typed: bool,
    /// `^`: a prerequisite.
    is_required: bool,
    path: TokenPath,
}

impl Token {
    /// The token is the name of a variable and nothing else.
    fn is_bare_name(&self) -> bool {
        match &self.path {
            TokenPath::Static(reference) => matches!(reference.rest, Rest::Nothing),
            TokenPath::Dynamic { .. } => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum TokenPath {
    /// No nested tokens.
    Static(Reference),
    /// The path text is put together while filling. The root is known if it ends before the first
    /// nested token.
    Dynamic { root: Option<Root>, pieces: Vec<Piece> },
}

/// The variable at the start of a path.
#[derive(Debug, Clone, PartialEq)]
struct Root {
    name: Text,
    slot: Option<SlotId>,
}

/// A path without nested tokens, ready to be resolved.
#[derive(Debug, Clone, PartialEq)]
struct Reference {
    /// The whole path, root included.
    text: Text,
    root: Root,
    rest: Rest,
}

/// A step behind the root.
#[derive(Debug, Clone, PartialEq)]
enum Rest {
    Nothing,
    /// `.names`; the names are for the plain walk, the path for everything else. `is_walk`: both
    /// are the same steps.
    Dotted {
        names: Vec<Text>,
        path: Path,
        is_walk: bool,
    },
    /// `[…]`.
    Bracketed(Path),
    /// An expression in it is not in the expression language; fails when it is used.
    Broken(PathError),
}

impl Template {
    /// Reads a template. Never fails: a backtick, unbalanced braces or too deep nesting make the
    /// whole string plain text (see [`Template::is_malformed`]).
    pub fn parse(text: &str) -> Self {
        Self::from_text(text.into())
    }

    /// Reads a template from text that is already shared.
    pub fn from_text(text: Text) -> Self {
        parse::template(text)
    }

    /// The text as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether there is no token.
    pub fn is_literal(&self) -> bool {
        !self.pieces.iter().any(|piece| matches!(piece, Piece::Token(_)))
    }

    /// Whether the text could not be read as a template and is used verbatim; worth a warning for
    /// headers (CON-31).
    pub fn is_malformed(&self) -> bool {
        self.is_malformed
    }

    /// Whether the whole string is one token, whose value it becomes.
    pub fn single_token(&self) -> bool {
        matches!(self.pieces[..], [Piece::Token(_)])
    }

    /// The names that the tokens refer to, as far as they are known before filling: roots of paths,
    /// nested ones included, and variables in expressions. In text order, repeated names too.
    pub fn roots(&self) -> Vec<&str> {
        let mut roots = Vec::new();
        roots_of(&self.pieces, &mut roots);
        roots
    }

    /// The paths of tokens below a name, as steps, as far as they are plain names: `config` finds
    /// `["shop", "api"]` in `{config.shop.api}`. Nested tokens are looked through.
    pub fn paths_below(&self, root: &str) -> Vec<&[Text]> {
        let mut paths = Vec::new();
        paths_below(&self.pieces, root, &mut paths);
        paths
    }

    /// Turns names into slots, so that filling asks for them without hashing; a name without a slot
    /// stays a name.
    pub fn bind(&mut self, slot_of: &mut dyn FnMut(&str) -> Option<SlotId>) {
        bind_pieces(&mut self.pieces, slot_of);
    }

    /// The value of the template (TOK-7 to TOK-12); absent if the whole string
    /// is one token that does not resolve. Fails if a path expression fails or a limit of paths is
    /// reached.
    pub fn fill(&self, scope: &dyn Scope) -> Result<Value, PathError> {
        fill::keep(self, scope)
    }

    /// Fills a template that is worth nothing unless it is whole: absent if any token does not
    /// resolve or is null. A token is looked up as one flat name first (CON-20).
    pub fn fill_whole(&self, scope: &dyn Scope) -> Result<Value, PathError> {
        fill::whole(self, scope)
    }

    /// The text of the template in "drop mode" (CON-31): a token is
    /// looked up as one flat name first, then by a plain walk; what is not found, and structures,
    /// vanish. A malformed template is its own text.
    pub fn fill_drop(&self, scope: &dyn Scope) -> String {
        fill::drop(self, scope)
    }

    /// The path of the first prerequisite (`{^x}`) that is absent or null, nested ones included
    /// (EXE-6).
    pub fn required_missing(&self, scope: &dyn Scope) -> Result<Option<String>, PathError> {
        fill::required_missing(&self.pieces, scope)
    }

    /// Whether it holds a prerequisite.
    pub fn has_required(&self) -> bool {
        has_required(&self.pieces)
    }
}

fn has_required(pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::Literal(_) => false,
        Piece::Token(token) => {
            token.is_required
                || matches!(&token.path, TokenPath::Dynamic { pieces, .. } if has_required(pieces))
        }
    })
}

fn roots_of<'a>(pieces: &'a [Piece], roots: &mut Vec<&'a str>) {
    for piece in pieces {
        let Piece::Token(token) = piece else { continue };
        match &token.path {
            TokenPath::Static(reference) => {
                roots.push(&reference.root.name);
                if let Rest::Dotted { path, .. } | Rest::Bracketed(path) = &reference.rest {
                    roots.extend(path.variables());
                }
            }
            TokenPath::Dynamic { root, pieces } => {
                roots.extend(root.as_ref().map(|root| root.name.as_str()));
                roots_of(pieces, roots);
            }
        }
    }
}

fn paths_below<'a>(pieces: &'a [Piece], root: &str, paths: &mut Vec<&'a [Text]>) {
    for piece in pieces {
        let Piece::Token(token) = piece else { continue };
        match &token.path {
            TokenPath::Static(reference) if reference.root.name == *root => {
                if let Rest::Dotted { names, is_walk: true, .. } = &reference.rest {
                    paths.push(names);
                }
            }
            TokenPath::Static(_) => {}
            TokenPath::Dynamic { pieces, .. } => paths_below(pieces, root, paths),
        }
    }
}

fn bind_pieces(pieces: &mut [Piece], slot_of: &mut dyn FnMut(&str) -> Option<SlotId>) {
    for piece in pieces {
        let Piece::Token(token) = piece else { continue };
        match &mut token.path {
            TokenPath::Static(reference) => {
                reference.root.slot = slot_of(&reference.root.name);
                if let Rest::Dotted { path, .. } | Rest::Bracketed(path) = &mut reference.rest {
                    path.bind(slot_of);
                }
            }
            TokenPath::Dynamic { root, pieces } => {
                if let Some(root) = root {
                    root.slot = slot_of(&root.name);
                }
                bind_pieces(pieces, slot_of);
            }
        }
    }
}

#[cfg(test)]
mod tests;
