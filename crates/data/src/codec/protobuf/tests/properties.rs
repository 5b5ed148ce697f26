//! Every reading is compared with the one of another library, and damaged input never panics.

use proptest::prelude::*;
use prost_reflect::DynamicMessage;

use super::{
    super::decode::{Whole, walk},
    *,
};
use crate::{Text, codec::prune::prune};

fn leaf_value(name: &'static str) -> BoxedStrategy<Value> {
    let number = |text: String| Value::Number(Number::Source(Text::from(text)));
    match name {
        "berthId" | "person" | "name" | "note" => "[a-zé]{0,5}".prop_map(Value::string).boxed(),
        // Amounts: of other floats there may be two shortest texts, and the reference may take the
        // other one.
        "maxDraft" => prop_oneof![
            (any::<i16>(), 0..100_u8)
                .prop_map(|(whole, cents)| f32::from(whole) / 8.0 + f32::from(cents) / 100.0)
                .prop_map(crate::codec::single::widen)
                .prop_map(|value| Value::Number(Number::Float(value))),
            Just(Value::from("NaN")),
            Just(Value::from("-Infinity")),
        ]
        .boxed(),
        "area" => any::<f64>()
            .prop_filter("finite", |value| value.is_finite())
            // The reference takes -0 for unset, the wire does not.
            .prop_map(|value| Value::Number(Number::Float(value + 0.0)))
            .boxed(),
        "tonnage" | "sf64" | "crew" => {
            any::<i64>().prop_map(|value| Value::string(value.to_string())).boxed()
        }
        "f64" | "number" => any::<u64>().prop_map(move |value| number(value.to_string())).boxed(),
        "kind" => prop_oneof![Just(Value::from("QUAY")), (-3..12_i64).prop_map(Value::int)].boxed(),
        "pilots" | "sf32" | "s32" | "staff" => any::<i32>().prop_map(Value::from).boxed(),
        "u32" | "f32" => any::<u32>().prop_map(Value::from).boxed(),
        "open" => any::<bool>().prop_map(Value::Bool).boxed(),
        "seal" => proptest::collection::vec(any::<u8>(), 0..5)
            .prop_map(|bytes| Value::string(scalar::to_base64(&bytes)))
            .boxed(),
        "built" => Just(Value::from("2012-06-22T00:51:16.538Z")).boxed(),
        "stay" => Just(Value::from("-3.000000001s")).boxed(),
        "mask" => Just(Value::from("aB,c")).boxed(),
        _ => Just(Value::object(Object::new())).boxed(),
    }
}

fn company() -> BoxedStrategy<Value> {
    let flat = (
        proptest::option::of(leaf_value("name")),
        proptest::option::of(leaf_value("staff")),
        proptest::collection::vec("[a-z]{0,3}".prop_map(Value::string), 0..3),
    )
        .prop_map(|(name, staff, sites)| {
            Object::from_iter([
                ("name", name.unwrap_or_default()),
                ("staff", staff.unwrap_or_default()),
                ("sites", Value::array(sites)),
            ])
        });
    flat.clone()
        .prop_flat_map(move |outer| {
            proptest::option::of(flat.clone()).prop_map(move |parent| {
                let mut outer = outer.clone();
                outer.insert("parent", parent.map(Value::object).unwrap_or_default());
                Value::object(outer)
            })
        })
        .boxed()
}

fn json_value() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-1000..1000_i32).prop_map(|n| Value::Number(Number::Float(f64::from(n) / 8.0))),
        "[a-z]{0,4}".prop_map(Value::string),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::array),
            proptest::collection::vec(("[a-z]{1,2}", inner), 0..3)
                .prop_map(|members| Value::object(members.into_iter().collect())),
        ]
    })
    .boxed()
}

fn berth_value() -> impl Strategy<Value = Value> {
    const LEAVES: [&str; 19] = [
        "berthId", "maxDraft", "tonnage", "kind", "pilots", "seal", "open", "area", "u32", "f32",
        "f64", "sf32", "sf64", "s32", "built", "stay", "crew", "mask", "empty",
    ];
    let leaves = proptest::sample::subsequence(LEAVES.to_vec(), 0..8).prop_flat_map(|names| {
        let members: Vec<_> =
            names.into_iter().map(|name| leaf_value(name).prop_map(move |v| (name, v))).collect();
        members
    });
    let owner = proptest::option::of(prop_oneof![
        leaf_value("person").prop_map(|value| ("person", value)),
        leaf_value("number").prop_map(|value| ("number", value)),
        company().prop_map(|value| ("company", value)),
    ]);
    let lists = (
        proptest::collection::vec(leaf_value("s32"), 0..4),
        proptest::collection::vec(leaf_value("sf64"), 0..4),
        proptest::collection::vec(leaf_value("kind"), 0..3),
        proptest::collection::vec((-9..9_i32, leaf_value("kind")), 0..3),
        proptest::collection::vec(("[ab]", company()), 0..3),
    );
    let special =
        (proptest::option::of(json_value()), proptest::collection::vec(json_value(), 0..3));
    (leaves, owner, lists, special, proptest::option::of(company())).prop_map(
        |(leaves, owner, (depths, offsets, all_kinds, kinds, neighbours), special, operator)| {
            let mut object: Object = leaves.into_iter().chain(owner).collect();
            let (anything, values) = special;
            object.insert("depths", Value::array(depths));
            object.insert("offsets", Value::array(offsets));
            object.insert("allKinds", Value::array(all_kinds));
            let kinds = kinds.into_iter().map(|(key, kind)| (key.to_string(), kind)).collect();
            object.insert("kinds", Value::object(kinds));
            let neighbours = neighbours.into_iter().map(|(key, company)| {
                (key, Value::object(Object::from_iter([("operator", company)])))
            });
            object.insert("neighbours", Value::object(neighbours.collect()));
            object.insert("anything", anything.unwrap_or_default());
            object.insert("values", Value::array(values));
            object.insert("operator", operator.unwrap_or_default());
            Value::object(object)
        },
    )
}

fn reference_json(bytes: &[u8], pool: &DescriptorPool, options: ProtobufOptions) -> Value {
    let descriptor = pool.get_message_by_name("harbor.v1.Berth").unwrap();
    let message = DynamicMessage::decode(descriptor, bytes).unwrap();
    let mut out = serde_json::Serializer::new(Vec::new());
    let settings = prost_reflect::SerializeOptions::new()
        .stringify_64_bit_integers(true)
        .use_proto_field_name(options.names == Names::Proto)
        .skip_default_fields(!options.defaults);
    message.serialize_with_options(&mut out, &settings).unwrap();
    json::parse_str(std::str::from_utf8(&out.into_inner()).unwrap()).unwrap()
}

const COLUMNS: [&str; 20] = [
    "berthId",
    "maxDraft",
    "tonnage",
    "kind",
    "pilots",
    "depths",
    "offsets",
    "neighbours",
    "kinds",
    "person",
    "company",
    "seal",
    "operator",
    "open",
    "area",
    "built",
    "crew",
    "anything",
    "values",
    "nothing",
];

thread_local! {
    static SHARED: (Schema, DescriptorPool) = (harbor(), reference_pool());
}

proptest! {
    #[test]
    fn the_walk_reads_what_the_reference_reads(
        first in berth_value(), second in berth_value(), is_proto in any::<bool>(),
    ) {
        let (schema, pool) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        let options = ProtobufOptions {
            names: if is_proto { Names::Proto } else { Names::Json },
            ..ProtobufOptions::default()
        };
        // Two messages one after the other are one, merged.
        let bytes = [encode(&first, &message).unwrap(), encode(&second, &message).unwrap()].concat();
        let own = mapped(&bytes, &message, options).unwrap();
        let reference = reference_json(&bytes, &pool, options);
        prop_assert!(own == reference, "{} {}", json::to_string(&own), json::to_string(&reference));
    }

    #[test]
    fn text_is_what_the_tree_prints(
        parts in proptest::collection::vec(berth_value(), 1..3),
        damage in proptest::option::of((any::<proptest::sample::Index>(), any::<u8>())),
        is_low_level in any::<bool>(), defaults in any::<bool>(),
        elements_max in prop_oneof![Just(4_000_000_usize), 0..30_usize],
        growth_max in prop_oneof![Just(1 << 20), 0..40_usize],
    ) {
        let (schema, _) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        // Parts in their order are one message with all sorts of repetitions.
        let mut bytes =
            parts.iter().map(|part| encode(part, &message).unwrap()).collect::<Vec<_>>().concat();
        if let Some((at, byte)) = damage && !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let mapping = if is_low_level { Mapping::LowLevel } else { Mapping::Proto3 };
        let options = ProtobufOptions { mapping, defaults, ..ProtobufOptions::default() };
        let limits = DecodeLimits {
            elements_max, decoded_bytes_max: bytes.len() + growth_max, ..DecodeLimits::default()
        };
        let read = |whole| {
            walk(bytes.clone().into(), &Projection::All, &message, options, &limits, whole)
        };
        let (text, tree) = (read(Whole::Text), read(Whole::Tree));
        if let Ok(text) = &text {
            let tree = tree.as_ref().expect("what is written can be read");
            prop_assert_eq!(json::to_string(text), json::to_string(tree));
            prop_assert!(text == tree);
        }
        let decoded = decode(bytes.clone().into(), &Projection::All, &message, &options, &limits);
        match (decoded, tree) {
            (Ok(decoded), Ok(tree)) => {
                prop_assert_eq!(json::to_string(&decoded), json::to_string(&tree));
            }
            (decoded, tree) => {
                prop_assert_eq!(decoded.unwrap_err(), tree.unwrap_err().into_error());
            }
        }
    }

    #[test]
    fn fields_in_any_order_are_text_in_the_order_of_the_schema(
        value in berth_value(),
        order in proptest::collection::vec(any::<proptest::sample::Index>(), 30),
        is_low_level in any::<bool>(),
    ) {
        let (schema, _) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        let Value::Object(members) = value else { unreachable!() };
        let mut fields: Vec<Vec<u8>> = Vec::new();
        for ((name, value), place) in members.iter().zip(order) {
            let elements = match value {
                // Lists in several places.
                Value::Array(elements) if *name != *"anything" => {
                    elements.iter().map(|element| Value::array(vec![element.clone()])).collect()
                }
                other => vec![other.clone()],
            };
            // What is encoded behind another one stays behind it.
            let mut at = place.index(fields.len() + 1);
            for element in elements {
                let alone = Value::object([(name.clone(), element)].into_iter().collect());
                fields.insert(at, encode(&alone, &message).unwrap());
                at += 1 + usize::from(at + 1 < fields.len());
            }
        }
        let bytes = Bytes::from(fields.concat());
        let mapping = if is_low_level { Mapping::LowLevel } else { Mapping::Proto3 };
        let options = ProtobufOptions { mapping, ..ProtobufOptions::default() };
        let limits = DecodeLimits::default();
        let read = |whole| walk(bytes.clone(), &Projection::All, &message, options, &limits, whole);
        let (text, tree) = (read(Whole::Text), read(Whole::Tree).unwrap());
        let is_exact = members.get("area").is_none() && !is_low_level;
        prop_assert!(text.is_ok() || !is_exact, "{}", json::to_string(&tree));
        if let Ok(text) = text {
            prop_assert_eq!(json::to_string(&text), json::to_string(&tree));
        }
    }

    #[test]
    fn rows_are_cells(
        berths in proptest::collection::vec(berth_value(), 0..4),
        columns in proptest::sample::subsequence(COLUMNS.to_vec(), 1..=5),
        is_one in any::<bool>(), is_low_level in any::<bool>(), defaults in any::<bool>(),
        damage in proptest::option::of((any::<proptest::sample::Index>(), any::<u8>())),
        elements_max in prop_oneof![Just(4_000_000_usize), 0..60_usize],
        growth_max in prop_oneof![Just(1 << 20), 0..60_usize],
    ) {
        let (schema, _) = SHARED.with(Clone::clone);
        let (message, steps) = if is_one {
            (schema.message("harbor.v1.Berth").unwrap(), vec![])
        } else {
            (schema.message("harbor.v1.BerthList").unwrap(), vec![Text::from("berths")])
        };
        let mut bytes = if is_one {
            berths.iter().map(|berth| encode(berth, &message).unwrap()).collect::<Vec<_>>().concat()
        } else {
            let list = Object::from_iter([("total", Value::int(3)), ("berths", Value::array(berths))]);
            encode(&Value::object(list), &message).unwrap()
        };
        let is_damaged = damage.is_some();
        if let Some((at, byte)) = damage && !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let body = Bytes::from(bytes);
        let mapping = if is_low_level { Mapping::LowLevel } else { Mapping::Proto3 };
        let options = ProtobufOptions { mapping, defaults, ..ProtobufOptions::default() };
        let limits = DecodeLimits {
            elements_max, decoded_bytes_max: body.len() + growth_max, ..DecodeLimits::default()
        };
        let mut projection =
            Projection::Members(columns.iter().map(|name| ((*name).into(), Projection::All)).collect());
        if !is_one {
            let each = Projection::Each(Box::new(projection));
            projection = Projection::Members([("berths".into(), each)].into_iter().collect());
        }
        let cells = decode_rows(body.clone(), &steps, &columns, &message, &options, &limits);
        let decoded = decode(body, &projection, &message, &options, &limits);
        if let Some(cells) = &cells {
            let decoded = decoded.expect("what is rows can be read");
            let rows = if is_one { Value::array(vec![decoded]) } else { decoded.member("berths") };
            prop_assert_eq!(cells.len(), rows.len());
            for row in 0..cells.len() {
                for (column, name) in columns.iter().enumerate() {
                    let (cell, value) = (cells.value(row, column), rows.element(row).member(name));
                    prop_assert_eq!(json::to_string(&cell), json::to_string(&value));
                    prop_assert_eq!(cell.is_absent(), value.is_absent());
                    prop_assert!(cell == value);
                }
            }
        } else if let Ok(decoded) = decoded {
            // What is usual is rows.
            let is_unusual = is_damaged || is_one || is_low_level || defaults
                || columns.iter().any(|name| ["person", "company", "area"].contains(name))
                || decoded.member("berths").is_empty() || growth_max < 60;
            prop_assert!(is_unusual, "{}", json::to_string(&decoded));
        }
    }

    #[test]
    fn decode_after_encode_is_identity(value in berth_value()) {
        let (schema, _) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        let once = plain(&encode(&value, &message).unwrap(), &message).unwrap();
        let twice = plain(&encode(&once, &message).unwrap(), &message).unwrap();
        prop_assert_eq!(json::to_string(&twice), json::to_string(&once));
    }

    #[test]
    fn pruning_while_decoding_is_pruning_afterwards(
        value in berth_value(),
        paths in proptest::collection::vec(proptest::collection::vec(
            "depths|operator|parent|name|neighbours|a|company|person|kinds|3|tonnage|0", 1..4), 0..5),
    ) {
        let (schema, _) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        let mut projection = Projection::none();
        for path in &paths {
            projection.add_members(path);
        }
        let bytes = encode(&value, &message).unwrap();
        let whole = plain(&bytes, &message).unwrap();
        let options = ProtobufOptions::default();
        let pruned =
            decode(bytes.into(), &projection, &message, &options, &DecodeLimits::default()).unwrap();
        // Types with a JSON form of their own are kept whole, so what is kept is pruned once more.
        prop_assert_eq!(
            json::to_string(&prune(&pruned, &projection)), json::to_string(&prune(&whole, &projection))
        );
        prop_assert!(json::to_string(&pruned).len() <= json::to_string(&whole).len());
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let (schema, _) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        let _ = plain(&bytes, &message);
        let options = ProtobufOptions {
            mapping: Mapping::LowLevel, defaults: true, ..ProtobufOptions::default()
        };
        let _ = mapped(&bytes, &message, options);
    }

    #[test]
    fn damaged_messages_never_panic(
        value in berth_value(), at in any::<proptest::sample::Index>(), byte in any::<u8>(),
    ) {
        let (schema, _) = SHARED.with(Clone::clone);
        let message = schema.message("harbor.v1.Berth").unwrap();
        let mut bytes = encode(&value, &message).unwrap();
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = plain(&bytes, &message);
    }

    #[test]
    fn arbitrary_values_are_refused_without_panic(value in json_value()) {
        let (schema, _) = SHARED.with(Clone::clone);
        let _ = encode(&value, &schema.message("harbor.v1.Berth").unwrap());
    }
}
