//! Continuations: the words and names that could stand at the end of a text, noted by the productions
//! that read it.
//!
//! In: a parser whose text ends where somebody types. Every production that asks for a word or a
//! name at that place leaves a note here, through the same questions that error messages are made of
//! ([`super::expect`]); so there is one grammar, for reading and for completing. Out: [`AtCursor`],
//! which [`crate::complete`] turns into its answer. A parser without a cursor notes nothing.

use super::{Parser, expect::STATEMENT_WORDS, script::Place};
use crate::{
    ast::{Source, VerbKind},
    complete::{TokenPlace, Wanted},
    diagnostic::codes,
    limits::Limits,
    tokens::{Role, Token, TokenKind},
};

/// The words that start a statement which can stand as a value.
pub(super) const VALUE_WORDS: &[&str] =
    &["select", "insert", "update", "delete", "create", "show", "describe", "desc"];

/// The three literals.
pub(super) const LITERAL_WORDS: &[&str] = &["true", "false", "null"];

/// The notes at the end of a text.
#[derive(Debug, Default)]
pub(crate) struct AtCursor {
    /// Keywords, in the order the grammar asks for them.
    pub(crate) keywords: Vec<&'static str>,
    /// Names.
    pub(crate) wants: Vec<Wanted>,
    /// The end lies inside a quoted text: where its quote stands, and what its tokens may name.
    pub(crate) text: Option<(usize, Option<TokenPlace>)>,
    /// The end lies inside a comment.
    pub(crate) is_comment: bool,
    /// The sources of the selects whose column lists hold the looked-for place; those of the innermost first,
    /// of others those with aliases.
    pub(crate) sources: Vec<Source>,
}

/// The notes of a run, and the surroundings they need.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    notes: AtCursor,
    /// A production failed at the end: what is asked for later belongs to the recovery.
    is_closed: bool,
    /// The sources of the statement that is being read.
    scope: Vec<Source>,
    /// Those of the selects around it that have aliases, the innermost last.
    around: Vec<Source>,
    /// The verb that the statement uses them for.
    verb: Option<VerbKind>,
    /// Inside a block of a table, whose values see no variables.
    is_in_table: bool,
    /// The names that tokens of a quoted text at this place may have.
    text_place: Option<(usize, TokenPlace)>,
    /// Look for the select whose column list holds this offset.
    looked_for: Option<u32>,
    /// What the grammar takes the names at these places for, noted only while recording.
    roles: Option<Vec<(u32, Role)>>,
}

impl Cursor {
    /// The sources whose rows an expression may name.
    fn rows_in_scope(&self) -> Vec<Source> {
        self.scope.iter().chain(self.around.iter().rev()).cloned().collect()
    }
}

/// Reads `text` and notes what could stand at its end.
pub(crate) fn at_end(text: &str) -> AtCursor {
    run(text, Cursor::default())
}

/// The sources of the selects whose column lists hold `offset`; those of the innermost first, of others those
/// with aliases.
pub(crate) fn sources_around(text: &str, offset: u32) -> Vec<Source> {
    run(text, Cursor { looked_for: Some(offset), ..Cursor::default() }).sources
}

fn run(text: &str, cursor: Cursor) -> AtCursor {
    let mut parser = Parser::new(text, Limits::default());
    parser.cursor = Some(Box::new(cursor));
    parser.script();
    let is_unclosed =
        parser.diagnostics.iter().any(|problem| problem.code == codes::UNCLOSED_COMMENT);
    let is_line_comment = parser
        .lexer
        .comments
        .last()
        .is_some_and(|last| !last.is_block && last.span.end as usize == text.len());
    let mut notes = parser.cursor.map(|cursor| cursor.notes).unwrap_or_default();
    notes.is_comment = is_unclosed || is_line_comment;
    notes
}

impl Parser<'_> {
    /// The notes, if the next token would stand at the end and nothing has failed there yet.
    fn notes(&mut self) -> Option<&mut Cursor> {
        let is_at_end = self.lexer.peek().is_none();
        let is_noting = |cursor: &&mut Cursor| is_at_end && !cursor.is_closed;
        self.cursor.as_deref_mut().filter(is_noting).filter(|cursor| cursor.roles.is_none())
    }

    /// Notes what the grammar takes a name at this place for; the last note holds.
    pub(super) fn note_role(&mut self, role: Role) {
        let at = self.start();
        if let Some(roles) = self.cursor.as_deref_mut().and_then(|cursor| cursor.roles.as_mut()) {
            roles.push((at, role));
        }
    }

    /// From now on all tokens are noted, and what the grammar takes names for.
    pub(super) fn start_recording(&mut self) {
        self.lexer.tokens = Some(Vec::new());
        self.cursor = Some(Box::new(Cursor { roles: Some(Vec::new()), ..Cursor::default() }));
    }

    /// The recorded tokens, with the roles that were noted for them.
    pub(super) fn take_recorded(&mut self) -> Vec<Token> {
        let mut tokens = self.lexer.tokens.take().unwrap_or_default();
        let roles = self.cursor.as_deref_mut().and_then(|cursor| cursor.roles.take());
        let mut roles = roles.unwrap_or_default();
        roles.sort_by_key(|(at, _)| *at);
        let mut roles = roles.into_iter().peekable();
        let mut before = None;
        for token in &mut tokens {
            let is_text = token.kind == TokenKind::Text;
            let mut noted = None;
            while let Some((at, role)) = roles.next_if(|(at, _)| *at <= token.span.start) {
                let fits = at == token.span.start && matches!(role, Role::Text(_)) == is_text;
                noted = fits.then_some(role).or(noted);
            }
            let is_member = matches!(before, Some((b'.', at)) if at == token.span.start);
            let text = &self.lexer.text()[token.span.range()];
            if token.kind == TokenKind::Name && !is_member && is_literal_word(text, token.role) {
                token.kind = TokenKind::Literal;
            }
            let is_free = token.role == Role::Plain
                && matches!(token.kind, TokenKind::Name | TokenKind::Text);
            if let Some(role) = noted.filter(|_| is_free) {
                token.role = role;
            }
            before = text.bytes().last().map(|last| (last, token.span.end));
        }
        tokens
    }

    /// Notes keywords that could stand here.
    pub(super) fn offer(&mut self, words: &[&'static str]) {
        let Some(cursor) = self.notes() else { return };
        for word in words {
            if !cursor.notes.keywords.contains(word) {
                cursor.notes.keywords.push(word);
            }
        }
    }

    /// Notes a kind of name that could stand here.
    pub(super) fn want(&mut self, wanted: Wanted) {
        match wanted {
            Wanted::Variable => self.note_role(Role::Variable),
            Wanted::Connector => self.note_role(Role::Connector),
            _ => {}
        }
        let Some(cursor) = self.notes() else { return };
        if !cursor.notes.wants.contains(&wanted) {
            cursor.notes.wants.push(wanted);
        }
    }

    /// A column of the statement's sources could stand here.
    pub(super) fn want_column(&mut self) {
        self.note_role(Role::Column);
        let Some(cursor) = self.notes() else { return };
        let sources = cursor.rows_in_scope();
        let wanted = match cursor.verb {
            Some(verb @ VerbKind::Insert) => Wanted::Parameter { sources, verb },
            _ => Wanted::Column { sources },
        };
        self.want(wanted);
    }

    /// An operand of an expression could stand here, which is a column unless a production knows more.
    pub(super) fn want_operand(&mut self) {
        let Some(cursor) = self.notes() else { return };
        if cursor.notes.wants.is_empty() {
            let sources = cursor.rows_in_scope();
            cursor.notes.wants.push(Wanted::Column { sources });
        }
    }

    /// The left side of a condition could stand here: a parameter of a table, a column of a variable.
    pub(super) fn want_condition(&mut self) {
        self.note_role(Role::Condition);
        let Some(cursor) = self.notes() else { return };
        let (own, sources) = (cursor.scope.clone(), cursor.rows_in_scope());
        let verb = cursor.verb.unwrap_or(VerbKind::Select);
        self.want(Wanted::Parameter { sources: own, verb });
        self.want(Wanted::Column { sources });
    }

    /// A value could stand here: a literal, a variable, or a column where rows are at hand.
    pub(super) fn want_value(&mut self, are_rows_at_hand: bool) {
        self.note_role(if are_rows_at_hand { Role::Argument } else { Role::Value });
        self.offer(LITERAL_WORDS);
        let Some(cursor) = self.notes() else { return };
        if cursor.is_in_table {
            return;
        }
        let sources = cursor.rows_in_scope();
        self.want(Wanted::Variable);
        if sources.len() > 1 || (are_rows_at_hand && !sources.is_empty()) {
            self.want(Wanted::Column { sources });
        }
    }

    /// A statement starts here if the text goes on. Behind a finished statement on the same line
    /// only its own clauses are of interest.
    pub(super) fn want_statement(&mut self, place: Place) {
        let before = self.lexer.text()[..self.lexer.last_end() as usize].chars().next_back();
        let is_start = matches!(before, None | Some(';' | '{' | '}'));
        if !is_start && !self.lexer.is_on_new_line() {
            return;
        }
        for word in STATEMENT_WORDS {
            let is_wanted = match *word {
                "return" => place == Place::Top,
                "throw" => place == Place::Block,
                _ => true,
            };
            if is_wanted {
                self.offer(&[word]);
            }
        }
    }

    /// Notes the sources of the statement that began at `start`.
    pub(super) fn set_scope(&mut self, start: u32, sources: &[Source], verb: VerbKind) {
        let Some(cursor) = self.cursor.as_deref_mut() else { return };
        cursor.scope = sources.to_vec();
        cursor.verb = Some(verb);
        let is_looked_for =
            |at: u32| start <= at && sources.first().is_some_and(|first| at < first.span.start);
        if cursor.looked_for.is_some_and(is_looked_for) {
            let found = &mut cursor.notes.sources;
            let is_innermost = found.is_empty();
            found.extend(sources.iter().filter(|it| is_innermost || it.alias.is_some()).cloned());
        }
    }

    /// A select begins inside of an expression or of the sources of another one, whose rows it may name; gives how
    /// many sources were around before.
    pub(super) fn enter_select(&mut self) -> usize {
        let Some(cursor) = self.cursor.as_deref_mut() else { return 0 };
        let before = cursor.around.len();
        cursor.around.extend(cursor.scope.iter().filter(|it| it.alias.is_some()).cloned());
        before
    }

    /// It has ended.
    pub(super) fn leave_select(&mut self, around: usize) {
        if let Some(cursor) = self.cursor.as_deref_mut() {
            cursor.around.truncate(around);
        }
    }

    /// A new statement or sub-select begins.
    pub(super) fn leave_scope(&mut self) {
        let Some(cursor) = self.cursor.as_deref_mut() else { return };
        cursor.scope.clear();
        cursor.verb = None;
        cursor.is_in_table = false;
    }

    /// The surroundings of a sub-select, to be given back to [`Self::set_scope`] behind it.
    pub(super) fn scope(&self) -> (Vec<Source>, VerbKind) {
        let cursor = self.cursor.as_ref();
        let sources = cursor.map(|cursor| cursor.scope.clone()).unwrap_or_default();
        (sources, cursor.and_then(|cursor| cursor.verb).unwrap_or(VerbKind::Select))
    }

    /// Values that follow belong to a table.
    pub(super) fn enter_table(&mut self) {
        if let Some(cursor) = self.cursor.as_deref_mut() {
            cursor.is_in_table = true;
        }
    }

    /// Notes what the tokens of the quoted text that is read next may name.
    pub(super) fn mark_text(&mut self, place: TokenPlace) {
        let at = self.lexer.at();
        let Some(cursor) = self.cursor.as_deref_mut() else { return };
        let is_value = place == TokenPlace::Script;
        let place = if cursor.is_in_table && is_value { TokenPlace::Table } else { place };
        cursor.text_place = Some((at, place));
        self.note_role(Role::Text(place));
    }

    /// The quote at `start` is never closed, so the end of the text lies in what it quotes.
    pub(super) fn note_open_text(&mut self, start: usize) {
        let Some(cursor) = self.cursor.as_deref_mut() else { return };
        if cursor.is_closed {
            return;
        }
        let place = cursor.text_place.filter(|(at, _)| *at == start).map(|(_, place)| place);
        cursor.notes.text = Some((start, place));
        cursor.is_closed = true;
    }

    /// A production failed; what is asked for from now on at the end is not what belongs there.
    pub(super) fn close_notes(&mut self) {
        let is_at_end = self.lexer.peek().is_none();
        if let Some(cursor) = self.cursor.as_deref_mut() {
            cursor.is_closed |= is_at_end;
        }
    }

    /// Whether the text ends where somebody types: a lone `select` at the end is a keyword then.
    pub(super) fn is_completing(&self) -> bool {
        self.cursor.as_ref().is_some_and(|cursor| cursor.roles.is_none())
    }
}

/// Whether a word that was read as a name is one of the literals; roles that only names have tell.
fn is_literal_word(word: &str, role: Role) -> bool {
    role == Role::Plain && LITERAL_WORDS.contains(&word)
}
