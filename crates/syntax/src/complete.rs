//! Completions at a place of a text, for editors.
//!
//! In: a text as it stands, finished or not, and an offset. Out: [`Completions`]: the keywords that
//! the grammar accepts there, the kinds of names it accepts, and the stretch that a chosen word
//! replaces. Which names there are is for whoever knows a catalog. The text before the place is
//! read by the parser itself, which notes what it asks for; there is no second grammar. Total on
//! any text, pure, linear in its length.

use crate::{
    ast::{Source, VerbKind},
    lexer,
    limits::Limits,
    parser::cursor::{self, AtCursor},
    source::Span,
    tokens::tokens,
};

/// The words and names that could be written at a place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Completions {
    /// Keywords and literals, in the order of the grammar. Not filtered by what is typed already.
    pub keywords: Vec<&'static str>,
    /// Kinds of names.
    pub wants: Vec<Wanted>,
    /// The stretch that a choice replaces: the dotted word before the place.
    pub replace: Span,
    /// The text of `replace`.
    pub typed: String,
}

/// A kind of name that could be written.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// A table, loaded or created by the script.
    Table,
    /// A variable of the script.
    Variable,
    /// A column of rows of these sources, none if they are not written yet. Of several sources the
    /// column needs its source's alias in front.
    Column {
        /// The sources of the statement.
        sources: Vec<Source>,
    },
    /// A parameter of these sources, where they are tables.
    Parameter {
        /// The sources of the statement.
        sources: Vec<Source>,
        /// The verb that the statement uses them for.
        verb: VerbKind,
    },
    /// A token: the place is between the braces of a quoted text.
    Token {
        /// The names it may have.
        place: TokenPlace,
    },
    /// The HTTP method of a route.
    RouteMethod,
    /// The template of a route that exists.
    RoutePath,
    /// A connector.
    Connector,
}

/// The names that tokens of a quoted text may have (TOK-11, CON-12, URI-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenPlace {
    /// A value of a script: variables, the request, settings.
    Script,
    /// A header, default or the like of a table: parameters, settings.
    Table,
    /// The URI of a table: new parameters, settings.
    Uri,
    /// The path of a route: new parameters.
    Route,
}

/// Finds the completions at byte `offset` of `text`; an offset inside of a character counts as the
/// one before it, one behind the end as the end. Nothing inside of comments, in the middle of a
/// number and in texts longer than the parser reads.
pub fn at(text: &str, offset: usize) -> Completions {
    let offset = text.floor_char_boundary(offset.min(text.len()));
    if text.len() > Limits::default().text_bytes_max {
        return Completions::default();
    }
    let Some(start) = word_start(text, offset) else { return Completions::default() };
    let AtCursor { keywords, mut wants, text: quoted, is_comment, .. } =
        cursor::at_end(&text[..start]);
    if is_comment {
        return Completions::default();
    }
    if let Some((quote, place)) = quoted {
        return place
            .map_or_else(Completions::default, |place| in_text(text, quote, offset, place));
    }
    add_sources_ahead(text, start, offset, &mut wants);
    Completions {
        keywords,
        wants,
        replace: Span::new(start as u32, offset as u32),
        typed: text[start..offset].to_owned(),
    }
}

/// Where the dotted word that ends at `offset` starts; `None` in the middle of a number.
fn word_start(text: &str, offset: usize) -> Option<usize> {
    let behind_dot =
        |at: usize| text[..at].strip_suffix('.').filter(|rest| rest.ends_with(lexer::is_word_part));
    let mut start = behind_dot(offset).map_or(offset, str::len);
    loop {
        let before = &text[..start];
        let word = before.trim_end_matches(lexer::is_word_part);
        let word = word.strip_suffix('$').unwrap_or(word);
        let first = text[word.len()..start].chars().next();
        match first {
            None => return Some(start),
            Some(first) if !lexer::is_word_start(first) => return None,
            Some(_) => start = word.len(),
        }
        match behind_dot(start) {
            Some(rest) => start = rest.len(),
            None => return Some(start),
        }
    }
}

/// The place is inside of a quoted text: only tokens are known there, and the paths of routes.
fn in_text(text: &str, quote: usize, offset: usize, place: TokenPlace) -> Completions {
    let content = &text[quote + 1..offset];
    let path = Completions {
        wants: vec![Wanted::RoutePath],
        replace: Span::new(quote as u32 + 1, offset as u32),
        typed: content.to_owned(),
        ..Completions::default()
    };
    let Some(brace) = content.rfind('{').filter(|brace| !content[*brace..].contains('}')) else {
        return if place == TokenPlace::Route { path } else { Completions::default() };
    };
    let typed = content[brace + 1..].trim_start_matches(['^', '=', '#', '|']);
    let is_path = typed.chars().all(|c| lexer::is_word_part(c) || matches!(c, '.' | '$'));
    if !is_path {
        return Completions::default();
    }
    Completions {
        keywords: Vec::new(),
        wants: vec![Wanted::Token { place }],
        replace: Span::new((offset - typed.len()) as u32, offset as u32),
        typed: typed.to_owned(),
    }
}

/// A column list stands before its sources: reads the text behind the place to find them, those of selects around
/// it as well.
fn add_sources_ahead(text: &str, start: usize, offset: usize, wants: &mut [Wanted]) {
    let known = wants.iter_mut().find_map(|wanted| match wanted {
        Wanted::Column { sources } => Some(sources),
        _ => None,
    });
    let Some(known) = known else { return };
    let rest = text[offset..].trim_start_matches(|c| lexer::is_word_part(c) || c == '.');
    // The word that is being typed need not be there yet, and without one the list is broken.
    let sources_of = |word: &str| {
        let whole = format!("{}{word} {rest}", &text[..start]);
        cursor::sources_around(&whole, start as u32)
    };
    let mut ahead = sources_of("x");
    if ahead.is_empty() && known.is_empty() {
        // Nor need a `case` be whole, or the brackets around it be closed.
        let closed = format!("x{}", open_brackets(&text[..start]));
        let fills = ["x when x then x", "x then x", &closed];
        let found = fills.into_iter().map(sources_of).find(|sources| !sources.is_empty());
        ahead = found.unwrap_or_default();
    }
    ahead.retain(|source| !known.contains(source));
    known.extend(ahead);
}

/// What closes the brackets that are open at the end of a text.
fn open_brackets(text: &str) -> String {
    let mut open = Vec::new();
    for token in tokens(text).tokens {
        match &text[token.span.range()] {
            "(" => open.push(')'),
            "[" => open.push(']'),
            "{" => open.push('}'),
            ")" | "]" | "}" => drop(open.pop()),
            _ => {}
        }
    }
    open.into_iter().rev().collect()
}
