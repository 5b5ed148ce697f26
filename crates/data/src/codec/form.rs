//! Form and query text: `a=1&b[c]=2&d[]=3` (SRV-19, SRV-23).
//!
//! In: `application/x-www-form-urlencoded` text, as in a body or after the `?` of a URI. Out: an
//! [`Object`] of texts, arrays and objects; and back. A name that comes once is a text, a name that
//! comes again is an array, `[]` always is an array, `[n]` with the next free position is an array
//! and `[name]` is a member. It promises to refuse malformed percent codes instead of guessing, and
//! to stay within [`FormLimits`]. It does not coerce: every leaf is text.

use std::{collections::HashMap, fmt};

use crate::{Object, Text, Value, percent};

/// The reason of a pair that cannot be decoded.
const MALFORMED: &str = "malformed percent-encoding";

/// Bounds of one form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormLimits {
    /// `name=value` pairs.
    pub pairs_max: usize,
    /// Brackets after one name; also the nesting that several fields of one name make together, and
    /// that is encoded.
    pub depth_max: usize,
}

impl Default for FormLimits {
    fn default() -> Self {
        Self { pairs_max: 10_000, depth_max: 16 }
    }
}

/// A form that cannot be read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormError {
    /// Bytes from the start of the text to the pair that is wrong.
    pub offset: usize,
    /// The reason: lower case, no full stop.
    pub reason: String,
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for FormError {}

/// Reads a form under the default limits.
pub fn parse(text: &str) -> Result<Object, FormError> {
    parse_within(text, &FormLimits::default())
}

/// Reads a form. Pairs without a name are left out; a name without `=` has the value `""`.
pub fn parse_within(text: &str, limits: &FormLimits) -> Result<Object, FormError> {
    match parse_plain(text, limits) {
        Some(object) => Ok(object),
        None => parse_nested(text, limits),
    }
}

/// Any form.
fn parse_nested(text: &str, limits: &FormLimits) -> Result<Object, FormError> {
    let mut root = Branch::default();
    let mut offset = 0;
    let mut pairs = 0;
    for pair in text.split('&') {
        let fail = |reason: String| FormError { offset, reason };
        if !pair.is_empty() {
            pairs += 1;
            if pairs > limits.pairs_max {
                return Err(fail(format!("more than {} form fields", limits.pairs_max)));
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |text| percent::decode_form(text).map_err(|_| fail(MALFORMED.to_owned()));
            let (name, value) = (decode(name)?, decode(value)?.into_owned());
            if !name.is_empty() {
                let (base, keys) = bracket_path(&name);
                let depth_max = limits.depth_max;
                let too_deep = || fail(format!("form field nested deeper than {depth_max}"));
                if keys.len() > depth_max {
                    return Err(too_deep());
                }
                root.add(base, &keys, value);
                if root.height > depth_max + 1 {
                    return Err(too_deep());
                }
            }
        }
        offset += pair.len() + 1;
    }
    Ok(root.into_object())
}

/// Reads a form as most queries are: a few different names, nothing encoded. All texts share one copy of it.
fn parse_plain(text: &str, limits: &FormLimits) -> Option<Object> {
    if memchr::memchr3(b'%', b'+', b'[', text.as_bytes()).is_some() {
        return None;
    }
    let count = text.split('&').filter(|pair| !pair.is_empty()).count();
    if count > limits.pairs_max.min(Branch::LOOKED_THROUGH_MAX) {
        return None;
    }
    let mut members: Vec<(Text, Value)> = Vec::with_capacity(count);
    let source = Text::from(text);
    for pair in source.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if members.iter().any(|(known, _)| **known == *name) {
            return None;
        }
        if !name.is_empty() {
            members.push((source.share(name), Value::String(source.share(value))));
        }
    }
    Some(Object::from_distinct(members))
}

/// Writes an object as form text, the opposite of [`parse`]: arrays as `a[]=1` (of structures as
/// `a[0][b]=1`), objects as `a[b]=1`. Absent members are left out, null and `""` both give `a=`;
/// empty arrays and objects give nothing, the notation has no word for them.
pub fn encode(object: &Object) -> Result<String, FormError> {
    let mut out = String::new();
    for (name, value) in object.iter() {
        let mut prefix = String::new();
        encode_text(name, &mut prefix);
        write(&prefix, value, FormLimits::default().depth_max, &mut out)?;
    }
    Ok(out)
}

/// Encodes everything but letters, digits and `-._~`.
fn encode_text(text: &str, out: &mut String) {
    percent::encode_except(
        text,
        |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte),
        out,
    );
}

fn write(prefix: &str, value: &Value, depth: usize, out: &mut String) -> Result<(), FormError> {
    if depth == 0 && value.is_structure() {
        return Err(FormError { offset: 0, reason: "value nested too deeply for a form".into() });
    }
    match value {
        Value::Absent => Ok(()),
        Value::Array(elements) => {
            let has_structures = elements.iter().any(Value::is_structure);
            for (at, element) in elements.iter().enumerate() {
                let key =
                    if has_structures { format!("{prefix}[{at}]") } else { format!("{prefix}[]") };
                // An absent element prints as null, so that the others keep their positions.
                let element = if element.is_absent() { &Value::Null } else { element };
                write(&key, element, depth - 1, out)?;
            }
            Ok(())
        }
        Value::Object(object) => {
            for (name, value) in object.iter() {
                let mut key = format!("{prefix}[");
                encode_text(name, &mut key);
                key.push(']');
                write(&key, value, depth - 1, out)?;
            }
            Ok(())
        }
        Value::Raw(_) => write(prefix, &value.into_tree(), depth, out),
        scalar => {
            if !out.is_empty() {
                out.push('&');
            }
            out.push_str(prefix);
            out.push('=');
            encode_text(&scalar.scalar_text().unwrap_or_default(), out);
            Ok(())
        }
    }
}

/// `a[b][]` → `a` and `["b", ""]`; a name with unbalanced brackets is a plain name.
fn bracket_path(name: &str) -> (&str, Vec<&str>) {
    let Some(open) = name.find('[').filter(|open| *open > 0) else {
        return (name, Vec::new());
    };
    let mut keys = Vec::new();
    let mut rest = &name[open..];
    while !rest.is_empty() {
        let Some((key, after)) = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'))
        else {
            return (name, Vec::new());
        };
        if key.contains('[') {
            return (name, Vec::new());
        }
        keys.push(key);
        rest = after;
    }
    (&name[..open], keys)
}

/// The position that a key means: digits as they are printed, so neither `01` nor `+1`.
fn position(key: &str) -> Option<usize> {
    let is_printed =
        key.bytes().all(|byte| byte.is_ascii_digit()) && (key.len() == 1 || !key.starts_with('0'));
    key.parse().ok().filter(|_| is_printed)
}

/// The values that were collected under one name.
#[derive(Default)]
enum Node {
    #[default]
    Empty,
    Leaf(String),
    List(List),
    Branch(Branch),
}

#[derive(Default)]
struct List {
    nodes: Vec<Node>,
    /// Structures below each other, this one included. Fields of one name that are a text and a
    /// member by turns wrap what is there again and again.
    height: usize,
}

/// Members in order. Few are looked through; many are found through an index, so that time stays
/// linear.
#[derive(Default)]
struct Branch {
    members: Vec<(Text, Node)>,
    index: HashMap<Text, usize>,
    /// As that of a list.
    height: usize,
}

impl Branch {
    /// Up to so many members have no index.
    const LOOKED_THROUGH_MAX: usize = 8;

    /// Adds a value under `keys` of the member `name`.
    fn add(&mut self, name: &str, keys: &[&str], value: String) {
        let node = self.member(name);
        node.add(keys, value);
        let height = node.height() + 1;
        self.height = self.height.max(height);
    }

    fn member(&mut self, name: &str) -> &mut Node {
        let at = self.position(name).unwrap_or_else(|| self.append(name.into()));
        &mut self.members[at].1
    }

    fn position(&self, name: &str) -> Option<usize> {
        if self.index.is_empty() {
            self.members.iter().position(|(known, _)| **known == *name)
        } else {
            self.index.get(name).copied()
        }
    }

    fn append(&mut self, name: Text) -> usize {
        let at = self.members.len();
        self.members.push((name, Node::Empty));
        if at == Self::LOOKED_THROUGH_MAX {
            let names = self.members.iter().map(|(name, _)| name.clone());
            self.index = names.zip(0..).collect();
        } else if at > Self::LOOKED_THROUGH_MAX {
            self.index.insert(self.members[at].0.clone(), at);
        }
        at
    }

    fn into_object(self) -> Object {
        self.members.into_iter().map(|(name, node)| (name, node.into_value())).collect()
    }
}

impl Node {
    fn add(&mut self, keys: &[&str], value: String) {
        let Some((key, rest)) = keys.split_first() else {
            return self.add_leaf(value);
        };
        if key.is_empty() {
            return self.as_list().push(Self::holding(rest, value));
        }
        if let (Self::Leaf(_), "0" | "1") = (&*self, *key) {
            // The text stands at 0, and 1 is the next free position.
            self.as_list();
        }
        match (&mut *self, position(key)) {
            // The next free position or one that is there: an array.
            (Self::Empty, Some(0)) => self.as_list().push(Self::holding(rest, value)),
            (Self::List(list), Some(at)) if at < list.nodes.len() => list.add(at, rest, value),
            (Self::List(list), Some(at)) if at == list.nodes.len() => {
                list.push(Self::holding(rest, value));
            }
            _ => self.as_branch().add(key, rest, value),
        }
    }

    fn add_leaf(&mut self, value: String) {
        match self {
            Self::Empty => *self = Self::Leaf(value),
            _ => self.as_list().push(Self::Leaf(value)),
        }
    }

    /// A new node that holds `value` under `keys`.
    fn holding(keys: &[&str], value: String) -> Self {
        let mut node = Self::Empty;
        node.add(keys, value);
        node
    }

    fn height(&self) -> usize {
        match self {
            Self::Empty | Self::Leaf(_) => 0,
            Self::List(list) => list.height,
            Self::Branch(branch) => branch.height,
        }
    }

    /// This node as a list; what was there becomes its first element.
    fn as_list(&mut self) -> &mut List {
        if !matches!(self, Self::List(_)) {
            let mut list = List::default();
            match std::mem::take(self) {
                Self::Empty => {}
                other => list.push(other),
            }
            *self = Self::List(list);
        }
        match self {
            Self::List(list) => list,
            _ => unreachable!("made a list above"),
        }
    }

    /// This node as a branch; an array becomes members named by position, a text the member `0`.
    fn as_branch(&mut self) -> &mut Branch {
        if !matches!(self, Self::Branch(_)) {
            let mut branch = Branch::default();
            match std::mem::take(self) {
                Self::List(list) => {
                    branch.height = list.height;
                    for (at, node) in list.nodes.into_iter().enumerate() {
                        *branch.member(&at.to_string()) = node;
                    }
                }
                leaf @ Self::Leaf(_) => *branch.member("0") = leaf,
                Self::Empty | Self::Branch(_) => {}
            }
            *self = Self::Branch(branch);
        }
        match self {
            Self::Branch(branch) => branch,
            _ => unreachable!("made a branch above"),
        }
    }

    fn into_value(self) -> Value {
        match self {
            Self::Empty => Value::Null,
            Self::Leaf(text) => Value::string(text),
            Self::List(list) => list.nodes.into_iter().map(Self::into_value).collect(),
            Self::Branch(branch) => Value::object(branch.into_object()),
        }
    }
}

impl List {
    fn push(&mut self, node: Node) {
        self.height = self.height.max(node.height() + 1);
        self.nodes.push(node);
    }

    /// Adds a value under `keys` of the element at a position that is there.
    fn add(&mut self, at: usize, keys: &[&str], value: String) {
        let node = &mut self.nodes[at];
        node.add(keys, value);
        self.height = self.height.max(node.height() + 1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::json;

    fn parsed(text: &str) -> String {
        json::to_string(&Value::object(parse(text).unwrap()))
    }

    #[test]
    fn notation_becomes_structure() {
        for (text, expected) in [
            ("", "{}"),
            ("a=1", r#"{"a":"1"}"#),
            ("a", r#"{"a":""}"#),
            ("a=1&a=2&a=3", r#"{"a":["1","2","3"]}"#),
            ("b[]=1", r#"{"b":["1"]}"#),
            ("b[k]=1&b[l]=2", r#"{"b":{"k":"1","l":"2"}}"#),
            ("author[name]=N", r#"{"author":{"name":"N"}}"#),
            ("a[b][c][]=x", r#"{"a":{"b":{"c":["x"]}}}"#),
            ("a[0]=x&a[1]=y", r#"{"a":["x","y"]}"#),
            ("a[0][n]=x&a[0][m]=y&a[1][n]=z", r#"{"a":[{"n":"x","m":"y"},{"n":"z"}]}"#),
            ("a[7]=x", r#"{"a":{"7":"x"}}"#),
            ("a[0]=x&a[7]=y", r#"{"a":{"0":"x","7":"y"}}"#),
            ("a=1&a[b]=2", r#"{"a":{"0":"1","b":"2"}}"#),
            ("a=x&a[1]=y&a[2]=z", r#"{"a":["x","y","z"]}"#),
            ("a=x&a[0]=y", r#"{"a":[["x","y"]]}"#),
            ("a=x&a[2]=y", r#"{"a":{"0":"x","2":"y"}}"#),
            ("a[0]=x&a[01]=y", r#"{"a":{"0":"x","01":"y"}}"#),
            ("a[0]=x&a[%2b1]=y", r#"{"a":{"0":"x","+1":"y"}}"#),
            ("a[b]=2&a=1", r#"{"a":[{"b":"2"},"1"]}"#),
            ("a%20b=c+d%26", r#"{"a b":"c d&"}"#),
            ("a=b=c", r#"{"a":"b=c"}"#),
            ("&&a=1&&", r#"{"a":"1"}"#),
            ("=x&[=y&a[=z&a[b]c=q", r#"{"[":"y","a[":"z","a[b]c":"q"}"#),
            ("a%5Bb%5D=1", r#"{"a":{"b":"1"}}"#),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn malformed_codes_are_errors_with_a_place() {
        for text in ["x=1&a=%", "x=1&a=%4", "x=1&a=%zz", "x=1&%ff=1", "x=1&a=%c3%28"] {
            assert_eq!(parse(text).unwrap_err().offset, 4, "{text}");
        }
    }

    #[test]
    fn limits_hold_at_their_bound() {
        let limits = FormLimits { pairs_max: 3, depth_max: 2 };
        assert!(parse_within("a&b&c", &limits).is_ok());
        assert!(parse_within("a&b&c&d", &limits).is_err());
        assert!(parse_within("a[b][c]=1", &limits).is_ok());
        assert!(parse_within("a[b][c][d]=1", &limits).is_err());
        // Each text wraps what is there once more, each member names what was wrapped.
        assert!(parse_within("a[b]=1&a=2", &limits).is_ok());
        let limits = FormLimits { pairs_max: 10_000, ..limits };
        assert!(parse_within("a[b]=1&a=2&a[b]=3&a=4", &limits).is_err());
        assert!(parse(&"a[b]=1&a=2&".repeat(5_000)).is_err());
        let deep = format!("a{}=1", "[b]".repeat(FormLimits::default().depth_max));
        assert_eq!(encode(&parse(&deep).unwrap()).unwrap(), deep);
    }

    #[test]
    fn encoding_escapes_what_has_a_meaning() {
        let object = parse("a+b=c%26d&e[]=1&e[]=2&f[g]=%c3%a6").unwrap();
        assert_eq!(encode(&object).unwrap(), "a%20b=c%26d&e[]=1&e[]=2&f[g]=%C3%A6");
    }

    fn name() -> impl Strategy<Value = String> {
        "[a-z &=+%ä]{1,4}"
    }

    fn form_value() -> impl Strategy<Value = Value> {
        let leaf = ".{0,6}".prop_map(Value::string);
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 1..4).prop_map(Value::array),
                proptest::collection::vec((name(), inner), 1..4)
                    .prop_map(|members| Value::object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_plain_form_is_read_as_any_other(text in "([a-c]{0,2}(=[a-c]{0,2}|=|)&?&?){0,12}") {
            let limits = FormLimits { pairs_max: 10, ..FormLimits::default() };
            let members = |object: Object| {
                let members = object.iter().map(|(name, value)| (name.clone(), value.clone()));
                members.collect::<Vec<_>>()
            };
            if let Some(plain) = parse_plain(&text, &limits) {
                let nested = parse_nested(&text, &limits).map(members);
                prop_assert_eq!(Ok(members(plain)), nested);
            }
        }

        #[test]
        fn arbitrary_text_never_panics(text in "[a-c\\[\\]=&%0-9+é]{0,60}") {
            let _ = parse(&text);
        }

        #[test]
        fn decode_after_encode_is_identity(
            members in proptest::collection::vec((name(), form_value()), 0..5),
        ) {
            let object: Object = members.into_iter().collect();
            let text = encode(&object).unwrap();
            let again = parse(&text).unwrap();
            prop_assert_eq!(
                json::to_string(&Value::object(again)), json::to_string(&Value::object(object)),
                "{}", text
            );
        }
    }
}
