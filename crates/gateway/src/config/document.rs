//! The table of settings for readers: the reference page and the JSON schema.

use std::fmt::Write as _;

use qlio_data::{Object, Text, Value, codec::json};

use super::{
    setting::{Draft, Setting},
    slot::{Kind, PROXY_MEMBERS},
    table::{self, GROUPS},
};

/// The page `docs/reference/settings.md`.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for group in GROUPS {
        let _ = write!(page, "\n## {}\n\n{TABLE_HEAD}", group.title);
        for setting in group.settings {
            let kind = setting.slot(&mut Draft::new(false)).kind();
            let mut about = setting.about.to_owned();
            for (words, names) in [("Also", setting.aliases), ("Flags:", setting.flags)] {
                if !names.is_empty() {
                    let _ = write!(about, " {words} `{}`.", names.join("`, `"));
                }
            }
            if let Some(variable) = setting.standard {
                let _ = write!(about, " Also the variable `{variable}`.");
            }
            if setting.is_guard {
                about.push_str(" *Guard.*");
            }
            if setting.is_fixed {
                about.push_str(" *Restart.*");
            }
            let wanted = setting.wanted(&kind);
            let (name, default) = (setting.name, shown_default(setting));
            let _ = writeln!(page, "| `{name}` | {wanted} | {default} | {about} |");
            if kind == Kind::Proxies {
                for (member, kind, about) in PROXY_MEMBERS {
                    let wanted = Setting::member_wanted(kind);
                    let _ = writeln!(page, "| `{name}.*.{member}` | {wanted} | | {about} |");
                }
            }
        }
    }
    page
}

const TABLE_HEAD: &str = "| Setting | Value | Default | Meaning |\n| --- | --- | --- | --- |\n";

const INTRODUCTION: &str = "\
# Settings

One object in the settings file: `qlio.json`, `qlio.toml` or `qlio.yaml`, of which there is one, else `config/dev.json`, or what `--config FILE` names. The ending says the format. A dotted name is a member of an object: `xml.coerce` is `{\"xml\": {\"coerce\": …}}`.

- `\"${NAME}\"` stands for the variable `NAME` of the environment, `\"${NAME:-text}\"` for `text` where that is not set or empty, and `\"file:/run/secrets/key\"` for what is in this file, without the end of its line. Such values, but not `text`, are secrets. Numbers and switches may come so, too.
- Each setting has a variable of its own: `QLIO_`, then its name in capitals, with `_` for each dot and before each word, such as `QLIO_MAX_NESTED_REQUESTS` and `QLIO_LIMITS_MEMORY_MIB`. Lists are written with commas, objects as JSON, and `file:` works here, too. An empty variable is not set. One that begins so and is no setting is an error, unless the file refers to it. Some settings have another variable beside it, under which OpenTelemetry knows them; their own beats it.
- A flag beats the variable, which beats the file, which beats the default. Some defaults differ with `--dev`.
- All other names at the top are yours: scripts and tables read them as `{config.name.inner}`.
- A value of the wrong kind, `null` included, is an error ([Q3010](../errors/Q3010-bad-config.md)) that names file, line, column, kind wanted and kind found. A name that nothing reads inside of an object of ours is an error, one at the top that resembles a setting a warning ([Q3021](../errors/Q3021-unknown-setting.md)).
- A *guard* decides what is reached, opened or shown. With an error in one, in its name or beside it, and with a file that cannot be read, nothing starts, not even with `--dev` or `--lenient`.
- A [reload](../operating/reload.md) takes all settings anew but those marked *Restart*, of which it says that they have changed and wait for a restart.
- YAML is that of version 1.2: `yes`, `on` and `007` are texts. Its aliases and its depth are bounded, and so is every file, at 4 MiB. Times of TOML are texts.

`qlio config show --origin` prints the settings that hold and where each comes from, `qlio config schema` a JSON schema for editors, `qlio config docs` this page.
";

/// The default as the page shows it.
pub(super) fn shown_default(setting: &Setting) -> String {
    if let Some(words) = setting.default {
        return words.to_owned();
    }
    let [usual, dev] = [false, true].map(|is_dev| {
        let value = setting.slot(&mut Draft::new(is_dev)).show();
        match &value {
            Value::Absent => "none".to_owned(),
            _ if value.elements().is_some_and(|elements| elements.is_empty()) => "none".to_owned(),
            Value::String(text) => format!("`{text}`"),
            value => format!("`{}`", json::to_string(value)),
        }
    });
    if usual == dev { usual } else { format!("{usual}; with `--dev` {dev}") }
}

/// A JSON Schema (2020-12) of the settings file.
pub fn schema() -> String {
    let mut root = Object::new();
    for setting in table::all() {
        let kind = setting.slot(&mut Draft::new(false)).kind();
        for path in setting.spellings() {
            let mut described = setting.value_schema(&kind);
            described.insert("description", Value::from(setting.about));
            insert(&mut root, &path, described);
        }
    }
    let mut schema = object([
        ("$schema", Value::from("https://json-schema.org/draft/2020-12/schema")),
        ("title", Value::from("Settings of qlio")),
        ("type", Value::from("object")),
    ]);
    schema.insert("properties", Value::object(root));
    json::to_string(&Value::object(schema))
}

/// Puts the schema of a value at a dotted path among properties. Where a value and members of an
/// object may stand at the same place, either is accepted.
fn insert(properties: &mut Object, path: &str, described: Object) {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let mut forms = match properties.take(name).member("anyOf").elements() {
        Some(forms) => forms.to_vec(),
        None => Vec::new(),
    };
    let is_section = |form: &Value| !form.member("additionalProperties").is_absent();
    match rest {
        None => forms.push(Value::object(described)),
        Some(rest) => {
            let found = forms.iter().position(is_section);
            let section = found.map(|at| forms.remove(at)).unwrap_or_default();
            let mut inner = match &*section.member("properties").open() {
                Value::Object(object) => (**object).clone(),
                _ => Object::new(),
            };
            insert(&mut inner, rest, described);
            forms.push(Value::object(object([
                ("type", Value::from("object")),
                ("properties", Value::object(inner)),
                ("additionalProperties", Value::Bool(false)),
            ])));
        }
    }
    properties.insert(name, Value::object(object([("anyOf", Value::array(forms))])));
}

fn object<const N: usize>(members: [(&'static str, Value); N]) -> Object {
    members.into_iter().map(|(name, value)| (Text::from_static(name), value)).collect()
}

/// A reference to a variable of the environment, `${NAME}`, or to a file.
const VARIABLE_PATTERN: &str = r"^(\$\{[^}]+\}|file:.+)$";

impl Setting {
    /// What a member of an entry of `proxy` must be, in words.
    fn member_wanted(kind: &Kind) -> &'static str {
        if *kind == Kind::Number { "a port number" } else { "text" }
    }

    /// The schema of its value; numbers and switches may be text, and whatever it is may come from
    /// the environment.
    fn value_schema(&self, kind: &Kind) -> Object {
        let of_type = |name| object([("type", Value::from(name))]);
        let variable =
            object([("type", Value::from("string")), ("pattern", Value::from(VARIABLE_PATTERN))]);
        let digits =
            object([("type", Value::from("string")), ("pattern", Value::from(r"^\s*[0-9]+\s*$"))]);
        let list =
            object([("type", Value::from("array")), ("items", Value::object(of_type("string")))]);
        let forms = match kind {
            Kind::Flag => vec![
                of_type("boolean"),
                object([("enum", ["true", "false"].map(Value::from).into_iter().collect())]),
                variable,
            ],
            Kind::Number | Kind::Milliseconds => {
                let mut number = of_type("integer");
                let bound = |bound: u64| Value::int(i64::try_from(bound).unwrap_or(i64::MAX));
                number.insert("minimum", bound(self.least));
                if self.most != u64::MAX {
                    number.insert("maximum", bound(self.most));
                }
                vec![number, digits, variable]
            }
            Kind::Fraction => {
                let mut number = of_type("number");
                number.insert("minimum", Value::int(0));
                number.insert("maximum", Value::int(1));
                let text = r"^\s*(0?\.[0-9]+|[01](\.0*)?)\s*$";
                let text =
                    object([("type", Value::from("string")), ("pattern", Value::from(text))]);
                vec![number, text, variable]
            }
            Kind::Text | Kind::Path => vec![of_type("string")],
            Kind::Texts => vec![of_type("string"), list],
            Kind::Choice(words) => {
                let words = words.iter().map(|word| Value::from(*word)).collect();
                vec![object([("enum", words)]), variable]
            }
            Kind::Proxies => {
                let member = |(name, kind, about): &(&'static str, Kind, &'static str)| {
                    let mut schema = Object::new();
                    if *kind == Kind::Number {
                        schema.insert(
                            "type",
                            ["integer", "string"].map(Value::from).into_iter().collect(),
                        );
                    } else {
                        schema.insert("type", Value::from("string"));
                    }
                    schema.insert("description", Value::from(*about));
                    (Text::from_static(name), Value::object(schema))
                };
                let entry = object([
                    ("type", Value::from("object")),
                    ("properties", Value::object(PROXY_MEMBERS.iter().map(member).collect())),
                    ("additionalProperties", Value::Bool(false)),
                ]);
                vec![object([
                    ("type", Value::from("object")),
                    ("additionalProperties", Value::object(entry)),
                ])]
            }
        };
        let forms = forms.into_iter().map(Value::object).collect();
        object([("anyOf", forms)])
    }
}
