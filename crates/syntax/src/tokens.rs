//! The tokens of a text and what the grammar takes each for: colours, names and their places, for
//! editors.
//!
//! In: a text, finished or not. Out: [`Tokens`]: every token and comment in text order, words with the
//! [`Role`] that the production which read them gives them, and the tree. The parser itself notes both
//! while it reads; there is no second lexer and no second grammar. Total on any text, pure, linear in
//! its length.

use crate::{
    ast::{Arg, Primary, Script},
    complete::TokenPlace,
    diagnostic::Diagnostic,
    limits::Limits,
    parser::{Recorded, record},
    source::Span,
    token,
    visit::each_primary,
};

/// The words that are keywords somewhere, in order; no word is one everywhere (GRM-1).
pub const KEYWORDS: &[&str] = &[
    "aliases",
    "all",
    "and",
    "arrays",
    "as",
    "asc",
    "assert",
    "at",
    "auth",
    "authenticate",
    "between",
    "bodyTemplate",
    "boolean",
    "by",
    "calls",
    "case",
    "catch",
    "client",
    "coerce",
    "columns",
    "cpuMs",
    "create",
    "cursor",
    "deadline",
    "defaults",
    "delete",
    "desc",
    "describe",
    "distinct",
    "do",
    "else",
    "end",
    "error",
    "exclude",
    "exists",
    "expect",
    "expires",
    "filter",
    "finally",
    "first",
    "foreach",
    "format",
    "from",
    "get",
    "group",
    "grpc",
    "having",
    "headers",
    "if",
    "ilike",
    "in",
    "insert",
    "into",
    "is",
    "join",
    "last",
    "left",
    "like",
    "limit",
    "limits",
    "link",
    "list",
    "mapping",
    "matches",
    "maxDelay",
    "memoryMiB",
    "message",
    "method",
    "minDelay",
    "missing",
    "names",
    "no",
    "not",
    "nulls",
    "number",
    "oauth2",
    "object",
    "off",
    "offset",
    "on",
    "optional",
    "or",
    "order",
    "page",
    "pages",
    "paginate",
    "paging",
    "pairs",
    "params",
    "parts",
    "pass",
    "patch",
    "post",
    "put",
    "request",
    "requests",
    "resultset",
    "retry",
    "return",
    "root",
    "route",
    "routes",
    "rows",
    "scope",
    "secret",
    "select",
    "show",
    "size",
    "status",
    "table",
    "tables",
    "text",
    "then",
    "throw",
    "timeout",
    "to",
    "token",
    "total",
    "transformer",
    "try",
    "type",
    "union",
    "up",
    "update",
    "upstream",
    "upstreamMiB",
    "using",
    "value",
    "values",
    "via",
    "when",
    "where",
    "with",
    "xml",
];

/// The tokens of a text, with what they were read as.
#[derive(Debug, Clone, PartialEq)]
pub struct Tokens {
    /// All tokens and comments, in text order.
    pub tokens: Vec<Token>,
    /// The statements that could be read.
    pub script: Script,
    /// The problems of the grammar, in text order.
    pub diagnostics: Vec<Diagnostic>,
}

/// A token or comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// What a name or text is taken for.
    pub role: Role,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// A word that the grammar asks for.
    Keyword,
    /// A word that names something; of tables and functions with its dots.
    Name,
    /// `true`, `false`, `null`.
    Literal,
    /// A number.
    Number,
    /// A quoted text, quotes included.
    Text,
    /// `{=name}` without quotes, braces included.
    Brace,
    /// An operator, bracket or separator.
    Symbol,
    /// A comment, markers included.
    Comment,
    /// What was gone over behind a failure.
    Skipped,
}

/// What the grammar takes a name for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Role {
    /// Nothing that is told apart: the members of paths and objects, parameters, options.
    #[default]
    Plain,
    /// A table or a variable.
    Source,
    /// Another name of a source.
    Alias,
    /// The table that is created.
    NewTable,
    /// The variable that is bound.
    Binding,
    /// A variable, or an exception.
    Variable,
    /// A variable if there is one of that name, else a column or the word itself.
    Value,
    /// An argument of a function of a script: of a call for each row a column, else a variable.
    Argument,
    /// A column of the rows.
    Column,
    /// The left side of a condition: a parameter of a table or a column.
    Condition,
    /// The name of a column of the result.
    Output,
    /// A function, or a variable that holds a module and its function.
    Function,
    /// A connector.
    Connector,
    /// A text whose tokens have such names.
    Text(TokenPlace),
}

/// Reads `text` and notes its tokens.
pub fn tokens(text: &str) -> Tokens {
    let Recorded { parsed, mut tokens } = record(text, &Limits::default());
    let comments = parsed.comments.iter().map(|comment| Token {
        kind: TokenKind::Comment,
        role: Role::Plain,
        span: comment.span,
    });
    tokens.extend(comments);
    tokens.sort_by_key(|token| token.span);
    name_arguments(&parsed.script, &mut tokens);
    Tokens { tokens, script: parsed.script, diagnostics: parsed.diagnostics }
}

/// The arguments of a call that is a statement are variables.
fn name_arguments(script: &Script, tokens: &mut [Token]) {
    each_primary(script, &mut |primary| {
        let Primary::Call(call) = primary else { return };
        for argument in &call.args {
            let Arg::Path(path) = argument else { continue };
            let found = tokens.binary_search_by_key(&path.span.start, |token| token.span.start);
            if let Ok(at) = found {
                tokens[at].role = Role::Variable;
            }
        }
    });
}

/// The names that the brace tokens of a quoted text start from, with their offsets in `text`: `order`
/// of `"{order.id}"` (TOK-1). A text with unbalanced braces or a backtick has none.
pub fn brace_names(text: &str) -> Vec<(usize, &str)> {
    let from = text.as_ptr() as usize;
    token::roots(text).into_iter().map(|name| (name.as_ptr() as usize - from, name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kind text` of every token, names with their role.
    fn listed(text: &str) -> Vec<String> {
        let show = |token: &Token| {
            let word = &text[token.span.range()];
            match token.kind {
                TokenKind::Name => format!("{:?} {word}", token.role),
                kind => format!("{kind:?} {word}"),
            }
        };
        tokens(text).tokens.iter().map(show).collect()
    }

    #[test]
    fn words_are_what_the_grammar_takes_them_for() {
        let text = "x = select name as n from shop.t as a where id = y and true limit 2 -- end";
        assert_eq!(
            listed(text),
            [
                "Binding x",
                "Symbol =",
                "Keyword select",
                "Column name",
                "Keyword as",
                "Output n",
                "Keyword from",
                "Source shop.t",
                "Keyword as",
                "Alias a",
                "Keyword where",
                "Condition id",
                "Symbol =",
                "Value y",
                "Keyword and",
                "Literal true",
                "Keyword limit",
                "Number 2",
                "Comment -- end",
            ]
        );
    }

    #[test]
    fn arguments_of_a_statement_are_variables_and_of_a_row_they_are_not() {
        let shown = listed("u = require('u') v = u.f(x) select u.g(x) from v");
        assert!(shown.contains(&"Variable x".to_owned()), "{shown:?}");
        assert!(shown.contains(&"Argument x".to_owned()), "{shown:?}");
        assert!(shown.contains(&"Function u.f".to_owned()), "{shown:?}");
    }

    #[test]
    fn what_is_gone_over_behind_a_failure_is_no_keyword() {
        let shown = listed("a = select x frm from t\nb = 1");
        assert!(shown.contains(&"Skipped from".to_owned()), "{shown:?}");
        assert!(shown.contains(&"Binding b".to_owned()), "{shown:?}");
    }

    #[test]
    fn tokens_do_not_overlap_and_cover_all_that_is_no_blank() {
        let text = "create table t on select get from 'http://h.test/{^id}' using defaults a = '1' \
            r = {\"a\": [1, -2.5, \"{x.y}\"]} /* c */ return select a['b c'][0].d, \
            case when a then 1 else {=r} end from t where a in (select b from r)";
        let mut end = 0;
        for token in tokens(text).tokens {
            let span = token.span.range();
            assert!(span.start >= end, "{token:?}");
            assert!(text[end..span.start].trim().is_empty(), "{:?}", &text[end..span.start]);
            end = span.end;
        }
        assert_eq!(end, text.len());
    }

    #[test]
    fn names_in_braces_are_found_with_their_places() {
        assert_eq!(brace_names("a {b.c} {d}"), [(3, "b"), (9, "d")]);
        assert!(brace_names("{ a }").is_empty());
    }
}
