//! Reading schemas, when tables are loaded.
//!
//! In: a descriptor set, or `.proto` files with a function that finds imports. Out: a [`Schema`].
//! The schema compiler is used here only and not kept: decoding needs nothing but our tables.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    fmt,
    sync::Arc,
};

use prost_reflect::{
    Cardinality, DescriptorPool, ExtensionDescriptor, FieldDescriptor, Kind as ReflectKind,
    MessageDescriptor,
};
use protox::{
    Compiler,
    file::{File, FileResolver, GoogleFileResolver},
};

use super::{
    Message,
    tables::{EnumTable, Field, Kind, MessageTable, Shape, Tables, WellKnown, camel_case},
};
use crate::Text;

/// Files of one schema, imports included.
const FILES_MAX: usize = 2000;

/// A schema that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaError {
    /// The reason, with file and place if the compiler told.
    pub reason: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for SchemaError {}

/// Message types and service methods.
#[derive(Debug, Clone)]
pub struct Schema {
    tables: Arc<Tables>,
    methods: Arc<HashMap<String, MethodEntry>>,
}

#[derive(Debug)]
struct MethodEntry {
    input: usize,
    output: usize,
    is_client_streaming: bool,
    is_server_streaming: bool,
}

/// A method of a service.
#[derive(Debug, Clone)]
pub struct Method {
    /// The message that a request is.
    pub input: Message,
    /// The message that an answer is.
    pub output: Message,
    /// Whether the client sends many messages.
    pub is_client_streaming: bool,
    /// Whether the server sends many messages.
    pub is_server_streaming: bool,
}

impl Schema {
    /// Reads `bytes` as what the file name says: `.proto` is a source, all else a descriptor set.
    /// `find` gets the name of an import and gives its text.
    pub fn load(
        file: &str,
        bytes: &[u8],
        find: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Result<Self, SchemaError> {
        let is_source = file.rsplit_once('.').is_some_and(|(_, end)| end == "proto");
        if !is_source {
            return Self::from_descriptor_set(bytes);
        }
        let text = std::str::from_utf8(bytes)
            .map_err(|_| SchemaError { reason: format!("`{file}` is not UTF-8") })?;
        Self::from_proto(file, text, find)
    }

    /// Reads a compiled descriptor set, which must contain the imports.
    pub fn from_descriptor_set(bytes: &[u8]) -> Result<Self, SchemaError> {
        let pool = DescriptorPool::decode(bytes)
            .map_err(|error| SchemaError { reason: format!("not a descriptor set: {error}") })?;
        Ok(Self::from_pool(&pool))
    }

    /// Compiles a `.proto` file. `find` gets the names of imports as they are written; what it does
    /// not know may still be one of the files that come with Protocol Buffers.
    pub fn from_proto(
        file: &str,
        text: &str,
        find: &mut dyn FnMut(&str) -> Option<String>,
    ) -> Result<Self, SchemaError> {
        let files = import_closure(file, text, find)?;
        let resolver = Sources { files: RefCell::new(files), google: GoogleFileResolver::new() };
        let mut compiler = Compiler::with_file_resolver(resolver);
        compiler.include_imports(true);
        compiler.open_file(file).map_err(|error| compile_error(file, &error))?;
        // The compiler's own pool is made before options are known: it takes `packed = false` of
        // proto3 for its opposite. A set that was written and read has them.
        Self::from_descriptor_set(&compiler.encode_file_descriptor_set())
    }

    /// A message type by its full name; a leading dot does not matter.
    pub fn message(&self, full_name: &str) -> Option<Message> {
        let name = full_name.strip_prefix('.').unwrap_or(full_name);
        let index = *self.tables.message_names.get(name)?;
        Some(Message { tables: Arc::clone(&self.tables), index })
    }

    /// The full names of all message types, sorted.
    pub fn message_names(&self) -> Vec<&str> {
        let mut names: Vec<_> =
            self.tables.messages.iter().map(|message| message.full_name.as_str()).collect();
        names.sort_unstable();
        names
    }

    /// A method by its gRPC path, `package.Service/Method`; a leading slash does not matter.
    pub fn method(&self, path: &str) -> Option<Method> {
        let entry = self.methods.get(path.strip_prefix('/').unwrap_or(path))?;
        let message = |index| Message { tables: Arc::clone(&self.tables), index };
        Some(Method {
            input: message(entry.input),
            output: message(entry.output),
            is_client_streaming: entry.is_client_streaming,
            is_server_streaming: entry.is_server_streaming,
        })
    }

    /// The gRPC paths of all methods, sorted.
    pub fn methods(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.methods.keys().map(String::as_str).collect();
        paths.sort_unstable();
        paths
    }

    fn from_pool(pool: &DescriptorPool) -> Self {
        let mut indexes = Indexes::default();
        for (at, message) in pool.all_messages().enumerate() {
            indexes.messages.insert(message.full_name().to_owned(), at);
        }
        let mut enums = Vec::new();
        for (at, descriptor) in pool.all_enums().enumerate() {
            indexes.enums.insert(descriptor.full_name().to_owned(), at);
            let mut table = EnumTable {
                first: descriptor.default_value().number(),
                is_null: descriptor.full_name() == "google.protobuf.NullValue",
                ..EnumTable::default()
            };
            // The pool sorts values; only the declaration tells which of two names comes first.
            for value in &descriptor.enum_descriptor_proto().value {
                let name = Text::from(value.name());
                table.names.entry(value.number()).or_insert_with(|| name.clone());
                table.numbers.insert(name, value.number());
            }
            enums.push(table);
        }
        let messages =
            pool.all_messages().map(|message| message_table(&message, &indexes)).collect();
        let mut methods = HashMap::new();
        for service in pool.services() {
            for method in service.methods() {
                let path = format!("{}/{}", service.full_name(), method.name());
                let entry = MethodEntry {
                    input: indexes.messages[method.input().full_name()],
                    output: indexes.messages[method.output().full_name()],
                    is_client_streaming: method.is_client_streaming(),
                    is_server_streaming: method.is_server_streaming(),
                };
                methods.insert(path, entry);
            }
        }
        let tables = Tables { messages, enums, message_names: indexes.messages };
        Self { tables: Arc::new(tables), methods: Arc::new(methods) }
    }
}

#[derive(Default)]
struct Indexes {
    messages: HashMap<String, usize>,
    enums: HashMap<String, usize>,
}

/// Files by name, taken out when the compiler asks for them.
struct Sources {
    files: RefCell<HashMap<String, File>>,
    google: GoogleFileResolver,
}

impl FileResolver for Sources {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match self.files.borrow_mut().remove(name) {
            Some(file) => Ok(file),
            None => self.google.open_file(name),
        }
    }
}

/// Parses a file and everything that it imports, directly or not.
fn import_closure(
    file: &str,
    text: &str,
    find: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<HashMap<String, File>, SchemaError> {
    let mut files = HashMap::new();
    let mut pending = VecDeque::from([(file.to_owned(), text.to_owned())]);
    while let Some((name, text)) = pending.pop_front() {
        if files.len() >= FILES_MAX {
            return Err(SchemaError { reason: format!("more than {FILES_MAX} schema files") });
        }
        let parsed =
            File::from_source(&name, &text).map_err(|error| compile_error(&name, &error))?;
        for import in &parsed.file_descriptor_proto().dependency {
            let is_known =
                files.contains_key(import) || pending.iter().any(|(name, _)| name == import);
            if !is_known
                && *import != name
                && let Some(text) = find(import)
            {
                pending.push_back((import.clone(), text));
            }
        }
        files.insert(name, parsed);
    }
    Ok(files)
}

fn compile_error(file: &str, error: &protox::Error) -> SchemaError {
    // The debug form of the compiler's errors has the place; the display form only the message.
    let detailed = format!("{error:?}");
    let reason = if detailed.contains(file) || detailed.starts_with(char::is_alphabetic) {
        detailed
    } else {
        format!("{file}: {error}")
    };
    SchemaError { reason }
}

fn message_table(message: &MessageDescriptor, indexes: &Indexes) -> MessageTable {
    let mut required = Vec::new();
    let mut fields = Vec::new();
    for field in message.fields() {
        if field.cardinality() == Cardinality::Required {
            required.push(field.number());
        }
        fields.push(find_field(message, &field, indexes));
    }
    fields.extend(message.extensions().map(|extension| extension_field(&extension, indexes)));
    let full_name = message.full_name();
    MessageTable::new(
        full_name.into(),
        fields,
        &|number| required.contains(&number),
        message.oneofs().len(),
        well_known(full_name),
    )
}

fn find_field(message: &MessageDescriptor, field: &FieldDescriptor, indexes: &Indexes) -> Field {
    let shape = match (field.is_map(), field.is_list()) {
        (true, _) => Shape::Map,
        (_, true) => Shape::Repeated,
        _ => Shape::Single,
    };
    let oneof = field.containing_oneof().and_then(|oneof| {
        message.oneofs().position(|candidate| candidate.full_name() == oneof.full_name())
    });
    Field {
        number: field.number(),
        json_name: field.json_name().into(),
        proto_name: field.name().into(),
        camel_name: camel_case(field.name()).into(),
        kind: kind(&field.kind(), field.is_group(), indexes),
        shape,
        is_packed: field.is_packed(),
        is_extension: false,
        // The members of map entries always print, set or not.
        is_implicit: shape == Shape::Single
            && !field.supports_presence()
            && !message.is_map_entry(),
        oneof,
        required: None,
    }
}

fn extension_field(extension: &ExtensionDescriptor, indexes: &Indexes) -> Field {
    let name = Text::from(format!("[{}]", extension.full_name()));
    Field {
        number: extension.number(),
        json_name: name.clone(),
        proto_name: name.clone(),
        camel_name: name,
        kind: kind(&extension.kind(), extension.is_group(), indexes),
        shape: if extension.is_list() { Shape::Repeated } else { Shape::Single },
        is_packed: extension.is_packed(),
        is_extension: true,
        is_implicit: false,
        oneof: None,
        required: None,
    }
}

fn kind(kind: &ReflectKind, is_group: bool, indexes: &Indexes) -> Kind {
    match kind {
        ReflectKind::Double => Kind::Double,
        ReflectKind::Float => Kind::Float,
        ReflectKind::Int32 => Kind::Int32,
        ReflectKind::Int64 => Kind::Int64,
        ReflectKind::Uint32 => Kind::Uint32,
        ReflectKind::Uint64 => Kind::Uint64,
        ReflectKind::Sint32 => Kind::Sint32,
        ReflectKind::Sint64 => Kind::Sint64,
        ReflectKind::Fixed32 => Kind::Fixed32,
        ReflectKind::Fixed64 => Kind::Fixed64,
        ReflectKind::Sfixed32 => Kind::Sfixed32,
        ReflectKind::Sfixed64 => Kind::Sfixed64,
        ReflectKind::Bool => Kind::Bool,
        ReflectKind::String => Kind::String,
        ReflectKind::Bytes => Kind::Bytes,
        ReflectKind::Enum(descriptor) => Kind::Enum(indexes.enums[descriptor.full_name()]),
        ReflectKind::Message(descriptor) => {
            let index = indexes.messages[descriptor.full_name()];
            if is_group { Kind::Group(index) } else { Kind::Message(index) }
        }
    }
}

fn well_known(full_name: &str) -> Option<WellKnown> {
    Some(match full_name.strip_prefix("google.protobuf.")? {
        "Timestamp" => WellKnown::Timestamp,
        "Duration" => WellKnown::Duration,
        "DoubleValue" | "FloatValue" | "Int64Value" | "UInt64Value" | "Int32Value"
        | "UInt32Value" | "BoolValue" | "StringValue" | "BytesValue" => WellKnown::Wrapper,
        "Struct" => WellKnown::Struct,
        "Value" => WellKnown::Value,
        "ListValue" => WellKnown::List,
        "FieldMask" => WellKnown::FieldMask,
        "Any" => WellKnown::Any,
        _ => return None,
    })
}
