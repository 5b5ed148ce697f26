//! Decoding the same rows from every format: the whole tree, three fields of each row, and all of it
//! into JSON text; the tree of `serde_json` is the yardstick.
//!
//! The rows are generated (fixed seed, 50 rows of about the size and shape of a product search).
//! Run with `cargo bench -p qlio-data --bench formats`; compare numbers of one run only.

use std::{fmt::Write, hint::black_box};

use bytes::Bytes;
use qlio_data::{
    Object, Value,
    codec::{DecodeError, DecodeLimits, cbor, csv, json, msgpack, xml},
    projection::Projection,
};

const ROWS: usize = 50;

fn main() {
    divan::main();
}

/// A row as text fields; the generator is a linear congruential one, so runs are alike.
struct Row {
    id: u64,
    title: String,
    price: u64,
    place: String,
    picture: String,
    end: String,
    is_open: bool,
}

fn rows() -> Vec<Row> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..ROWS)
        .map(|_| {
            let id = 100_000_000_000 + next(900_000_000_000);
            Row {
                id,
                title: format!(
                    "Harbour lamp no. {} & fittings, brass, {} candles",
                    next(1000),
                    next(90)
                ),
                price: 1000 + next(90_000),
                place: format!("Quay {}, Landing {}", next(40), next(300)),
                picture: format!("http://pictures.example/thumbs/{id}/{}_1.jpg", next(100_000)),
                end: format!("2012-07-{:02}T{:02}:16:50.000Z", 1 + next(28), next(24)),
                is_open: next(2) == 1,
            }
        })
        .collect()
}

fn xml_body() -> Bytes {
    let mut out = String::from(
        "<?xml version='1.0' encoding='utf-8'?><s:Envelope xmlns:s=\"urn:soap\"><s:Body>\
         <findResponse xmlns=\"urn:find\"><ack>Success</ack><searchResult count=\"50\">",
    );
    for row in rows() {
        let Row { id, title, price, place, picture, end, is_open } = row;
        let title = title.replace('&', "&amp;");
        let (whole, cents) = (price / 100, price % 100);
        write!(
            out,
            "<item><itemId>{id}</itemId><title>{title}</title><globalId>HARBOUR-ONE</globalId>\
             <primaryCategory><categoryId>171485</categoryId><categoryName>Lamps, Lights &amp; Candles\
             </categoryName></primaryCategory><galleryURL>{picture}</galleryURL>\
             <viewItemURL>{picture}?view=full&amp;from=search</viewItemURL>\
             <productId type=\"ReferenceID\">{id}</productId><paymentMethod>Transfer</paymentMethod>\
             <autoPay>{is_open}</autoPay><location>{place}</location><country>NO</country>\
             <shippingInfo><cost currencyId=\"NOK\">10.0</cost><type>Flat</type>\
             <to>Worldwide</to><expedited>{is_open}</expedited><oneDay>false</oneDay>\
             <handlingTime>1</handlingTime></shippingInfo>\
             <sellingStatus><currentPrice currencyId=\"NOK\">{whole}.{cents:02}</currentPrice>\
             <convertedPrice currencyId=\"NOK\">{whole}.{cents:02}</convertedPrice>\
             <state>Active</state><timeLeft>P24DT20H25M34S</timeLeft></sellingStatus>\
             <listingInfo><bestOffer>false</bestOffer><buyItNow>{is_open}</buyItNow>\
             <startTime>{end}</startTime><endTime>{end}</endTime><type>FixedPrice</type>\
             <gift>false</gift></listingInfo><returnsAccepted>true</returnsAccepted>\
             <condition><conditionId>7000</conditionId><name>For parts</name></condition>\
             <multi>false</multi></item>"
        )
        .expect("writing to a string");
    }
    out.push_str("</searchResult></findResponse></s:Body></s:Envelope>");
    out.into()
}

/// The rows of the XML body as a tree; the other formats are written from it.
fn tree() -> Value {
    let body = xml_body();
    let limits = DecodeLimits::default();
    xml::decode(body, &Projection::All, &xml::XmlOptions::default(), &limits)
        .expect("the body is generated")
        .into_tree()
}

fn member(value: &Value, names: &[&str]) -> Value {
    names.iter().fold(value.clone(), |value, name| value.member(name))
}

/// Decodes a body, and writes it as JSON if that is asked for.
fn run(
    bencher: divan::Bencher<'_, '_>,
    body: &Bytes,
    into_json: bool,
    decode: impl Fn(Bytes) -> Result<Value, DecodeError> + Sync,
) {
    let bencher = bencher.counter(divan::counter::BytesCount::new(body.len()));
    let value = || decode(black_box(body.clone())).expect("the body is generated");
    if into_json {
        bencher.bench(|| {
            let mut out = Vec::new();
            json::encode(&value(), &mut out);
            out
        });
    } else {
        bencher.bench(value);
    }
}

const RESULT: [&str; 5] = ["s:Envelope", "s:Body", "findResponse", "searchResult", "item"];
const FIELDS: [&[&str]; 3] = [&["itemId"], &["title"], &["sellingStatus", "currentPrice"]];

fn three_fields(result: &[&str]) -> Projection {
    let mut projection = Projection::none();
    for field in FIELDS {
        projection.add_members(&[result, field].concat());
    }
    projection
}

fn decode_xml(bencher: divan::Bencher<'_, '_>, projection: &Projection, into_json: bool) {
    let (options, limits) = (xml::XmlOptions::default(), DecodeLimits::default());
    run(bencher, &xml_body(), into_json, |body| xml::decode(body, projection, &options, &limits));
}

#[divan::bench]
fn xml_raw(bencher: divan::Bencher<'_, '_>) {
    decode_xml(bencher, &Projection::All, false);
}

/// A tree all the way down, as for somebody who looks at everything.
#[divan::bench]
fn xml_whole(bencher: divan::Bencher<'_, '_>) {
    let (options, limits) = (xml::XmlOptions::default(), DecodeLimits::default());
    run(bencher, &xml_body(), false, |body| {
        Ok(xml::decode(body, &Projection::All, &options, &limits)?.into_tree())
    });
}

#[divan::bench]
fn xml_to_json(bencher: divan::Bencher<'_, '_>) {
    decode_xml(bencher, &Projection::All, true);
}

#[divan::bench]
fn xml_three_fields(bencher: divan::Bencher<'_, '_>) {
    decode_xml(bencher, &three_fields(&RESULT), false);
}

fn json_body() -> Bytes {
    json::to_string(&tree()).into()
}

fn decode_json(bencher: divan::Bencher<'_, '_>, projection: &Projection, is_deep: bool) {
    let limits = DecodeLimits::default();
    run(bencher, &json_body(), false, |body| {
        let value = json::decode(body, projection, &limits)?;
        Ok(if is_deep { value.into_tree() } else { value })
    });
}

/// Through the tree: what is only passed on is copied as it is, which no other format can match.
#[divan::bench]
fn json_to_json(bencher: divan::Bencher<'_, '_>) {
    let limits = DecodeLimits::default();
    run(bencher, &json_body(), true, |body| {
        Ok(json::decode(body, &Projection::All, &limits)?.into_tree())
    });
}

#[divan::bench]
fn json_yardstick_serde_tree(bencher: divan::Bencher<'_, '_>) {
    let body = json_body();
    bencher
        .counter(divan::counter::BytesCount::new(body.len()))
        .bench(|| serde_json::from_slice::<serde_json::Value>(black_box(&body)).expect("valid"));
}

#[divan::bench]
fn json_raw(bencher: divan::Bencher<'_, '_>) {
    decode_json(bencher, &Projection::All, false);
}

#[divan::bench]
fn json_whole(bencher: divan::Bencher<'_, '_>) {
    decode_json(bencher, &Projection::All, true);
}

#[divan::bench]
fn json_three_fields(bencher: divan::Bencher<'_, '_>) {
    decode_json(bencher, &three_fields(&RESULT), false);
}

fn decode_msgpack(bencher: divan::Bencher<'_, '_>, projection: &Projection, into_json: bool) {
    let mut body = Vec::new();
    msgpack::encode(&tree(), &mut body).expect("a tree of plain values");
    let limits = DecodeLimits::default();
    run(bencher, &body.into(), into_json, |body| msgpack::decode(body, projection, &limits));
}

#[divan::bench]
fn msgpack_whole(bencher: divan::Bencher<'_, '_>) {
    decode_msgpack(bencher, &Projection::All, false);
}

#[divan::bench]
fn msgpack_to_json(bencher: divan::Bencher<'_, '_>) {
    decode_msgpack(bencher, &Projection::All, true);
}

#[divan::bench]
fn msgpack_three_fields(bencher: divan::Bencher<'_, '_>) {
    decode_msgpack(bencher, &three_fields(&RESULT), false);
}

fn decode_cbor(bencher: divan::Bencher<'_, '_>, projection: &Projection, into_json: bool) {
    let mut body = Vec::new();
    cbor::encode(&tree(), &mut body).expect("a tree of plain values");
    let limits = DecodeLimits::default();
    run(bencher, &body.into(), into_json, |body| cbor::decode(body, projection, &limits));
}

#[divan::bench]
fn cbor_whole(bencher: divan::Bencher<'_, '_>) {
    decode_cbor(bencher, &Projection::All, false);
}

#[divan::bench]
fn cbor_three_fields(bencher: divan::Bencher<'_, '_>) {
    decode_cbor(bencher, &three_fields(&RESULT), false);
}

#[divan::bench]
fn cbor_to_json(bencher: divan::Bencher<'_, '_>) {
    decode_cbor(bencher, &Projection::All, true);
}

fn csv_body() -> Bytes {
    let mut out = String::from("itemId,title,price,place,picture,end,open\r\n");
    for Row { id, title, price, place, picture, end, is_open } in rows() {
        write!(out, "{id},\"{title}\",{price},\"{place}\",{picture},{end},{is_open}\r\n")
            .expect("writing to a string");
    }
    out.into()
}

fn decode_csv(bencher: divan::Bencher<'_, '_>, projection: &Projection, into_json: bool) {
    let limits = DecodeLimits::default();
    run(bencher, &csv_body(), into_json, |body| csv::decode(body, true, projection, &limits));
}

#[divan::bench]
fn csv_whole(bencher: divan::Bencher<'_, '_>) {
    decode_csv(bencher, &Projection::All, false);
}

#[divan::bench]
fn csv_to_json(bencher: divan::Bencher<'_, '_>) {
    decode_csv(bencher, &Projection::All, true);
}

#[divan::bench]
fn csv_three_fields(bencher: divan::Bencher<'_, '_>) {
    let mut projection = Projection::none();
    for name in ["itemId", "title", "price"] {
        projection.add_members(&[name]);
    }
    decode_csv(bencher, &projection, false);
}

#[cfg(feature = "protobuf")]
mod protobuf_rows {
    use qlio_data::codec::protobuf::{ProtobufOptions, Schema, decode, decode_tree, encode};

    use super::{
        Bytes, DecodeLimits, Object, Projection, RESULT, Value, member, run, three_fields, tree,
    };

    const SCHEMA: &str = r#"
        syntax = "proto2";
        package find;
        message Response { required string ack = 1; required Result searchResult = 4; }
        message Result { repeated Item item = 1; }
        message Item {
          required string itemId = 1; required string title = 2; required string globalId = 3;
          required Category primaryCategory = 5; optional string galleryURL = 6;
          optional string viewItemURL = 7; optional string productId = 8;
          required string paymentMethod = 9; optional bool autoPay = 10;
          required string location = 12; optional string country = 13;
          required Shipping shippingInfo = 14; required Status sellingStatus = 15;
          required Listing listingInfo = 16; required bool returnsAccepted = 17;
          required Condition condition = 18; optional bool multi = 19;
        }
        message Category { required string categoryId = 1; required string categoryName = 2; }
        message Shipping {
          optional float cost = 1; optional string type = 2; optional string to = 3;
          optional bool expedited = 4; optional bool oneDay = 5; optional string handlingTime = 6;
        }
        message Status {
          required float currentPrice = 1; required float convertedPrice = 2;
          required string state = 4; required string timeLeft = 5;
        }
        message Listing {
          optional bool bestOffer = 1; optional bool buyItNow = 2; optional string startTime = 5;
          optional string endTime = 6; optional string type = 7; optional bool gift = 8;
        }
        message Condition { optional string conditionId = 1; optional string name = 2; }
    "#;

    /// Attributes have no place in the schema and its texts are no numbers; this fits the tree to it.
    fn fitted(value: &Value, name: &str) -> Value {
        const TEXTS: [&str; 5] =
            ["itemId", "productId", "categoryId", "conditionId", "handlingTime"];
        match value {
            Value::Object(_) if !member(value, &["$t"]).is_absent() => {
                fitted(&member(value, &["$t"]), name)
            }
            Value::Object(object) => Value::object(
                object
                    .iter()
                    .filter(|(name, _)| !["count", "xmlns"].contains(&name.as_str()))
                    .map(|(name, value)| (name.clone(), fitted(value, name)))
                    .collect::<Object>(),
            ),
            Value::Array(elements) => elements.iter().map(|each| fitted(each, name)).collect(),
            Value::Number(_) if TEXTS.contains(&name) => {
                value.scalar_text().map(Value::String).unwrap_or_default()
            }
            scalar => scalar.clone(),
        }
    }

    fn decode_rows(bencher: divan::Bencher<'_, '_>, projection: &Projection, use_of: Use) {
        let schema = Schema::from_proto("find.proto", SCHEMA, &mut |_| None).expect("valid");
        let message = schema.message("find.Response").expect("in the schema");
        let response = fitted(&member(&tree(), &RESULT[..3]), "");
        let body = Bytes::from(encode(&response, &message).expect("fits the schema"));
        let (options, limits) = (ProtobufOptions::default(), DecodeLimits::default());
        run(bencher, &body, use_of == Use::Json, |body| {
            if use_of == Use::Tree {
                return decode_tree(body, &message, &options, &limits);
            }
            decode(body, projection, &message, &options, &limits)
        });
    }

    /// What is made of the decoded value.
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Use {
        Nothing,
        Tree,
        Json,
    }

    #[divan::bench]
    fn protobuf_raw(bencher: divan::Bencher<'_, '_>) {
        decode_rows(bencher, &Projection::All, Use::Nothing);
    }

    #[divan::bench]
    fn protobuf_whole(bencher: divan::Bencher<'_, '_>) {
        decode_rows(bencher, &Projection::All, Use::Tree);
    }

    #[divan::bench]
    fn protobuf_to_json(bencher: divan::Bencher<'_, '_>) {
        decode_rows(bencher, &Projection::All, Use::Json);
    }

    #[divan::bench]
    fn protobuf_three_fields(bencher: divan::Bencher<'_, '_>) {
        decode_rows(bencher, &three_fields(&RESULT[3..]), Use::Nothing);
    }
}
