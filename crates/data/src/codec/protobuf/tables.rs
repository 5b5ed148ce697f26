//! A schema as the walk over the wire needs it, found by index and number.

use std::collections::HashMap;

use super::{Mapping, Names, ProtobufOptions};
use crate::{Number, Text, Value, codec::json::Opening};

/// Field numbers below this are found by position, others by search.
const DENSE_MAX: usize = 512;

/// A whole schema.
#[derive(Debug, Default)]
pub(super) struct Tables {
    pub(super) messages: Vec<MessageTable>,
    pub(super) enums: Vec<EnumTable>,
    pub(super) message_names: HashMap<String, usize>,
}

/// Message types that have a JSON form of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WellKnown {
    Timestamp,
    Duration,
    Wrapper,
    Struct,
    Value,
    List,
    FieldMask,
    Any,
}

/// A message type.
#[derive(Debug)]
pub(super) struct MessageTable {
    pub(super) full_name: Text,
    /// In order of their numbers.
    pub(super) fields: Vec<Field>,
    /// The facts of each field that the walk asks for.
    lookups: Vec<Lookup>,
    /// By number, for the numbers below [`DENSE_MAX`]: the index of the field, and one more.
    dense: Vec<u32>,
    /// Their names as they begin members in JSON text, by [`Spelling`] and index.
    openings: [Vec<Opening>; 3],
    by_name: HashMap<Text, usize>,
    pub(super) oneofs: Vec<Vec<usize>>,
    /// Whether there is one of more than one member; `optional` makes others.
    pub(super) has_oneofs: bool,
    pub(super) required: Vec<usize>,
    /// The bits of the required fields among the first 64 of them.
    pub(super) required_bits: u64,
    pub(super) well_known: Option<WellKnown>,
}

/// The facts that the walk asks of every field it meets, kept or not, close together in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lookup {
    /// Index of the field.
    pub(super) at: usize,
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) shape: Shape,
    /// Position among the required fields.
    pub(super) required: Option<u16>,
    pub(super) is_in_oneof: bool,
    pub(super) is_extension: bool,
    pub(super) is_implicit: bool,
}

/// A field, an extension, or the key or value of a map entry.
#[derive(Debug, Clone)]
pub(super) struct Field {
    pub(super) number: u32,
    /// The JSON name, `[full.name]` for an extension.
    pub(super) json_name: Text,
    pub(super) proto_name: Text,
    /// Derives the JSON name of a field for which the schema gives none.
    pub(super) camel_name: Text,
    pub(super) kind: Kind,
    pub(super) shape: Shape,
    pub(super) is_packed: bool,
    pub(super) is_extension: bool,
    /// No difference between unset and zero.
    pub(super) is_implicit: bool,
    pub(super) oneof: Option<usize>,
    /// Position among the required fields.
    pub(super) required: Option<u16>,
}

/// Which of its names a field has in JSON. Those of an extension are all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Json,
    Proto,
    Camel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Single,
    Repeated,
    /// A map; the kind of the field is its entry message, with key 1 and value 2.
    Map,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Double,
    Float,
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Bool,
    String,
    Bytes,
    /// Index of the enum.
    Enum(usize),
    /// Index of the message.
    Message(usize),
    /// Index of the message; framed by tags instead of a length.
    Group(usize),
}

/// An enum; of several names for one number, the first counts.
#[derive(Debug, Default)]
pub(super) struct EnumTable {
    pub(super) names: HashMap<i32, Text>,
    pub(super) numbers: HashMap<Text, i32>,
    /// The value that an unset field has.
    pub(super) first: i32,
    /// `google.protobuf.NullValue`, whose JSON form is null.
    pub(super) is_null: bool,
}

impl MessageTable {
    /// Arranges fields; their `required` positions are set here.
    pub(super) fn new(
        full_name: Text,
        mut fields: Vec<Field>,
        is_required: &dyn Fn(u32) -> bool,
        oneof_count: usize,
        well_known: Option<WellKnown>,
    ) -> Self {
        fields.sort_by_key(|field| field.number);
        let highest = fields.iter().map(|field| field.number as usize).filter(|n| *n < DENSE_MAX);
        let mut dense = vec![0; highest.max().map_or(0, |highest| highest + 1)];
        let mut by_name = HashMap::new();
        let mut oneofs = vec![Vec::new(); oneof_count];
        let mut required = Vec::new();
        for (at, field) in fields.iter_mut().enumerate() {
            if let Some(oneof) = field.oneof {
                oneofs[oneof].push(at);
            }
            if is_required(field.number) {
                // A message with more required fields than that cannot be declared in practice.
                field.required = u16::try_from(required.len()).ok();
                required.push(at);
            }
            if let Some(slot) = dense.get_mut(field.number as usize) {
                // Numbers have 29 bits, so there are not more fields than that.
                *slot = u32::try_from(at + 1).unwrap_or_default();
            }
            by_name.insert(field.json_name.clone(), at);
        }
        // A JSON name beats a declared one of the same spelling.
        for (at, field) in fields.iter().enumerate() {
            for name in [&field.proto_name, &field.camel_name] {
                if !field.is_extension {
                    by_name.entry(name.clone()).or_insert(at);
                }
            }
        }
        // The lowest bits, as many as there are required fields.
        let count = u32::try_from(required.len()).unwrap_or(u32::MAX);
        let required_bits = !u64::MAX.checked_shl(count).unwrap_or_default();
        let lookups = fields.iter().enumerate().map(|(at, field)| field.lookup(at)).collect();
        let names: [fn(&Field) -> &Text; 3] =
            [|field| &field.json_name, |field| &field.proto_name, |field| &field.camel_name];
        let openings =
            names.map(|name| fields.iter().map(|field| Opening::new(name(field))).collect());
        let has_oneofs = oneofs.iter().any(|members| members.len() > 1);
        Self {
            full_name,
            fields,
            lookups,
            dense,
            openings,
            by_name,
            oneofs,
            has_oneofs,
            required,
            required_bits,
            well_known,
        }
    }

    /// The field with a number.
    #[inline]
    pub(super) fn by_number(&self, number: u32) -> Option<&Lookup> {
        match self.dense.get(number as usize) {
            Some(behind) => self.lookups.get((*behind as usize).checked_sub(1)?),
            None => self.search(number),
        }
    }

    fn search(&self, number: u32) -> Option<&Lookup> {
        let at = self.lookups.binary_search_by_key(&number, |field| field.number).ok()?;
        self.lookups.get(at)
    }

    /// The names of the fields as they begin members in JSON text.
    pub(super) fn openings(&self, options: ProtobufOptions) -> &[Opening] {
        &self.openings[options.spelling() as usize]
    }

    /// The field with a JSON or declared name.
    pub(super) fn by_name(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}

impl Lookup {
    /// Whether a mapping has the field; the low-level one knows no extensions.
    #[inline]
    pub(super) fn is_mapped(&self, options: ProtobufOptions) -> bool {
        !(self.is_extension && options.mapping == Mapping::LowLevel)
    }

    /// The shape under a mapping.
    #[inline]
    pub(super) fn shape(&self, options: ProtobufOptions) -> Shape {
        self.shape.under(options.mapping)
    }
}

impl Shape {
    /// The low-level mapping knows no maps, only lists of entries.
    #[inline]
    fn under(self, mapping: Mapping) -> Self {
        match (self, mapping) {
            (Self::Map, Mapping::LowLevel) => Self::Repeated,
            (shape, _) => shape,
        }
    }
}

impl ProtobufOptions {
    fn spelling(self) -> Spelling {
        match (self.names, self.mapping) {
            (Names::Proto, _) => Spelling::Proto,
            (Names::Json, Mapping::Proto3) => Spelling::Json,
            (Names::Json, Mapping::LowLevel) => Spelling::Camel,
        }
    }
}

impl Field {
    fn lookup(&self, at: usize) -> Lookup {
        let &Self { number, kind, shape, required, is_extension, is_implicit, .. } = self;
        let is_in_oneof = self.oneof.is_some();
        Lookup { at, number, kind, shape, required, is_in_oneof, is_extension, is_implicit }
    }

    pub(super) fn name(&self, options: ProtobufOptions) -> &Text {
        match options.spelling() {
            Spelling::Json => &self.json_name,
            Spelling::Proto => &self.proto_name,
            Spelling::Camel => &self.camel_name,
        }
    }

    /// The shape under a mapping.
    pub(super) fn shape(&self, options: ProtobufOptions) -> Shape {
        self.shape.under(options.mapping)
    }
}

impl Tables {
    /// The value of an unset field; `None` for messages, which are absent when unset.
    pub(super) fn zero(&self, kind: Kind, options: ProtobufOptions) -> Option<Value> {
        Some(match kind {
            Kind::Double
            | Kind::Float
            | Kind::Int32
            | Kind::Uint32
            | Kind::Sint32
            | Kind::Fixed32
            | Kind::Sfixed32 => Value::int(0),
            Kind::Int64 | Kind::Uint64 | Kind::Sint64 | Kind::Fixed64 | Kind::Sfixed64 => {
                match options.mapping {
                    Mapping::Proto3 => Value::String(Text::from_static("0")),
                    Mapping::LowLevel => Value::int(0),
                }
            }
            Kind::Bool => Value::Bool(false),
            Kind::String => Value::String(Text::default()),
            Kind::Bytes => match options.mapping {
                Mapping::Proto3 => Value::String(Text::default()),
                Mapping::LowLevel => Value::object(crate::Object::new()),
            },
            Kind::Enum(at) => {
                let table = &self.enums[at];
                match table.names.get(&table.first) {
                    _ if table.is_null => Value::Null,
                    Some(name) => Value::String(name.clone()),
                    None => Value::Number(Number::Int(i64::from(table.first))),
                }
            }
            Kind::Message(_) | Kind::Group(_) => return None,
        })
    }
}

/// `berth_id` → `berthId`, as the schema compiler derives JSON names.
pub(super) fn camel_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut is_after_underscore = false;
    for c in name.chars() {
        if c == '_' {
            is_after_underscore = true;
        } else if is_after_underscore {
            is_after_underscore = false;
            out.push(c.to_ascii_uppercase());
        } else {
            out.push(c);
        }
    }
    out
}

/// `berthId` → `berth_id`; `None` if that would not come back as it was.
pub(super) fn snake_case(name: &str) -> Option<String> {
    let mut out = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c == '_' {
            return None;
        }
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    Some(out)
}
