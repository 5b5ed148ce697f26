//! Three fields of each row of a JSON answer: our projecting decoder beside `serde_json`.
//!
//! `cargo bench -p qlio-data --bench json`. The documents come from a fixed seed: 50 rows of 1.3 KB
//! in the manner of a search service (every field an array of one), and 15 rows of 0.6 KB in the
//! manner of a timeline. Every contender validates the whole document and writes
//! `[{"…":…,"…":…,"…":…},…]` at the end, so the work compared is the same.

use std::fmt::Write as _;

use bytes::Bytes;
use divan::{Bencher, black_box, counter::BytesCount};
use qlio_data::{
    Object, Value,
    codec::{DecodeLimits, json},
    projection::Projection,
};

fn main() {
    divan::main();
}

/// A document and the columns to keep; the rows lie under `rows`.
struct Document {
    text: String,
    rows: &'static [&'static str],
    columns: [&'static str; 3],
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Search50,
    Timeline15,
}

const SHAPES: [Shape; 2] = [Shape::Search50, Shape::Timeline15];

/// A small linear congruential generator: the same documents on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn words(&mut self, count: u64) -> String {
        const WORDS: [&str; 12] = [
            "harbour", "lamp", "brass", "café", "vintage", "13-inch", "boxed", "as new", "rare",
            "ship's", "clock", "blue",
        ];
        let words: Vec<_> = (0..count).map(|_| WORDS[self.below(12) as usize]).collect();
        words.join(" ")
    }
}

fn document(shape: Shape) -> Document {
    let mut random = Random(42);
    let mut text = String::new();
    match shape {
        Shape::Search50 => {
            text.push_str(r#"{"searchResponse":[{"ack":["Success"],"version":["1.12.0"],"searchResult":[{"@count":"50","item":["#);
            for row in 0..50 {
                if row > 0 {
                    text.push(',');
                }
                search_row(&mut text, &mut random);
            }
            text.push_str(
                r#"]}],"paginationOutput":[{"pageNumber":["1"],"totalEntries":["48211"]}]}]}"#,
            );
            Document {
                text,
                rows: &["searchResponse", "searchResult", "item"],
                columns: ["itemId", "title", "sellingStatus"],
            }
        }
        Shape::Timeline15 => {
            text.push_str(r#"{"results":["#);
            for row in 0..15 {
                if row > 0 {
                    text.push(',');
                }
                timeline_row(&mut text, &mut random);
            }
            text.push_str(r#"],"page":1,"since_id":0}"#);
            Document { text, rows: &["results"], columns: ["id", "text", "user"] }
        }
    }
}

fn search_row(out: &mut String, random: &mut Random) {
    let id = 100_000_000_000 + random.below(900_000_000);
    let title = random.words(9);
    let category = random.words(3);
    let price = random.below(90_000);
    let (whole, cents) = (price / 100, price % 100);
    let bids = random.below(40);
    write!(
        out,
        r#"{{"itemId":["{id}"],"title":["{title}"],"globalId":["EBAY-US"],"primaryCategory":[{{"categoryId":["{category_id}"],"categoryName":["{category}"]}}],"galleryURL":["http:\/\/thumbs.example.com\/pict\/{id}8080_1.jpg"],"viewItemURL":["http:\/\/www.example.com\/itm\/{slug}-\/{id}?pt=PDA_Accessories&hash=item{id:x}"],"productId":[{{"@type":"ReferenceID","__value__":"{product}"}}],"paymentMethod":["PayPal"],"autoPay":["true"],"postalCode":["{postal:05}"],"location":["San Jose,CA,USA"],"country":["US"],"shippingInfo":[{{"shippingServiceCost":[{{"@currencyId":"USD","__value__":"0.0"}}],"shippingType":["FlatDomesticCalculatedInternational"],"shipToLocations":["Worldwide"],"expeditedShipping":["true"],"oneDayShippingAvailable":["false"],"handlingTime":["1"]}}],"sellingStatus":[{{"currentPrice":[{{"@currencyId":"USD","__value__":{whole}.{cents:02}}}],"convertedCurrentPrice":[{{"@currencyId":"USD","__value__":{whole}.{cents:02}}}],"bidCount":{bids},"sellingState":["Active"],"timeLeft":["P0DT0H{minutes}M12S"]}}],"listingInfo":[{{"bestOfferEnabled":["false"],"buyItNowAvailable":["false"],"startTime":["2011-10-05T21:03:47.000Z"],"endTime":["2011-10-12T21:03:47.000Z"],"listingType":["FixedPrice"],"gift":["false"]}}],"condition":[{{"conditionId":["1000"],"conditionDisplayName":["New"]}}]}}"#,
        category_id = 1000 + random.below(180_000),
        slug = title.replace(' ', "-"),
        product = 90_000_000 + random.below(9_000_000),
        postal = random.below(99_999),
        minutes = random.below(60),
    )
    .expect("text can be written to");
}

fn timeline_row(out: &mut String, random: &mut Random) {
    let id = 120_000_000_000_000_000 + random.below(2_000_000_000);
    let user = random.below(300_000_000);
    write!(
        out,
        r#"{{"created_at":"Wed, 05 Oct 2011 21:03:{second:02} +0000","id":{id},"id_str":"{id}","text":"{words} \"{quoted}\" #{tag} http:\/\/t.example\/{id:x}","source":"<a href=\"http:\/\/example.com\/\" rel=\"nofollow\">web<\/a>","geo":null,"iso_language_code":"en","to_user_id":null,"favorited":false,"retweet_count":{retweets},"user":{{"id":{user},"name":"{name}","screen_name":"user_{user}","followers_count":{followers},"verified":false,"profile_image_url":"http:\/\/a3.example.com\/profile_images\/{user}\/normal.jpg"}},"metadata":{{"result_type":"recent"}}}}"#,
        second = random.below(60),
        words = random.words(8),
        quoted = random.words(2),
        tag = random.below(500),
        retweets = random.below(90),
        name = random.words(2),
        followers = random.below(90_000),
    )
    .expect("text can be written to");
}

mod qlio {
    use super::{
        Bencher, Bytes, BytesCount, DecodeLimits, Document, Object, Projection, SHAPES, Shape,
        Value, black_box, document, json,
    };

    fn projection(document: &Document) -> Projection {
        let mut projection = Projection::none();
        for column in document.columns {
            let mut path = document.rows.to_vec();
            path.push(column);
            projection.add_members(&path);
        }
        projection
    }

    /// What a `select` of three columns does after the decode.
    fn rows(document: &Document, value: &Value) -> Value {
        let mut rows = value.clone();
        for step in document.rows {
            if rows.is_array() {
                rows = rows.element(0);
            }
            rows = rows.member(step);
        }
        let rows = rows.elements().expect("rows are an array");
        rows.iter()
            .map(|row| -> Value {
                let mut object = Object::with_capacity(document.columns.len());
                for column in document.columns {
                    object.insert(qlio_data::Text::from_static(column), row.member(column));
                }
                object.into()
            })
            .collect()
    }

    fn decode(document: &Document, projection: &Projection, body: &Bytes) -> Vec<u8> {
        let value = json::decode(body.clone(), projection, &DecodeLimits::default())
            .expect("the document is valid");
        let mut out = Vec::with_capacity(32 * 1024);
        json::encode(&rows(document, &value), &mut out);
        out
    }

    #[divan::bench(args = SHAPES)]
    fn project(bencher: Bencher<'_, '_>, shape: Shape) {
        let document = document(shape);
        let projection = projection(&document);
        let body = Bytes::from(document.text.clone());
        let rows: serde_json::Value =
            serde_json::from_slice(&decode(&document, &projection, &body)).expect("valid JSON");
        assert_eq!(rows, super::serde::project_tree(&document));
        bencher
            .counter(BytesCount::of_str(&document.text))
            .bench_local(|| decode(&document, &projection, black_box(&body)));
    }

    #[divan::bench(args = SHAPES)]
    fn decode_only(bencher: Bencher<'_, '_>, shape: Shape) {
        let document = document(shape);
        let projection = projection(&document);
        let body = Bytes::from(document.text.clone());
        bencher.counter(BytesCount::of_str(&document.text)).bench_local(|| {
            json::decode(black_box(&body).clone(), &projection, &DecodeLimits::default())
        });
    }

    #[divan::bench(args = SHAPES)]
    fn validate_only(bencher: Bencher<'_, '_>, shape: Shape) {
        let document = document(shape);
        let body = Bytes::from(document.text.clone());
        bencher.counter(BytesCount::of_str(&document.text)).bench_local(|| {
            json::decode(black_box(&body).clone(), &Projection::All, &DecodeLimits::default())
        });
    }

    #[divan::bench(args = SHAPES)]
    fn tree(bencher: Bencher<'_, '_>, shape: Shape) {
        let document = document(shape);
        let body = Bytes::from(document.text.clone());
        bencher.counter(BytesCount::of_str(&document.text)).bench_local(|| {
            json::decode(black_box(&body).clone(), &Projection::All, &DecodeLimits::default())
                .map(|value| value.into_tree())
        });
    }

    #[divan::bench(args = SHAPES)]
    fn encode_tree(bencher: Bencher<'_, '_>, shape: Shape) {
        let document = document(shape);
        let tree = json::parse_str(&document.text).expect("valid").into_tree();
        bencher.counter(BytesCount::of_str(&document.text)).bench_local(|| {
            let mut out = Vec::with_capacity(70 * 1024);
            json::encode(black_box(&tree), &mut out);
            out
        });
    }
}

mod serde {
    use std::fmt;

    use ::serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
    use serde_json::value::RawValue;

    use super::{Bencher, BytesCount, Document, SHAPES, Shape, black_box, document};

    pub(super) fn project_tree(document: &Document) -> serde_json::Value {
        let mut rows: serde_json::Value =
            serde_json::from_str(&document.text).expect("the document is valid");
        for step in document.rows {
            if rows.is_array() {
                rows = rows[0].take();
            }
            rows = rows[*step].take();
        }
        let rows = rows.as_array_mut().expect("rows are an array");
        rows.iter_mut()
            .map(|row| -> serde_json::Value {
                document
                    .columns
                    .iter()
                    .map(|column| ((*column).to_owned(), row[*column].take()))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            })
            .collect()
    }

    #[divan::bench(args = SHAPES)]
    fn tree_then_project(bencher: Bencher<'_, '_>, shape: Shape) {
        let document = document(shape);
        bencher
            .counter(BytesCount::of_str(&document.text))
            .bench_local(|| serde_json::to_vec(&project_tree(black_box(&document))));
    }

    #[divan::bench(args = SHAPES)]
    fn validate_only(bencher: Bencher<'_, '_>, shape: Shape) {
        let document = document(shape);
        bencher.counter(BytesCount::of_str(&document.text)).bench_local(|| {
            serde_json::from_slice::<IgnoredAny>(black_box(document.text.as_bytes()))
        });
    }

    #[divan::bench(args = SHAPES)]
    fn tree(bencher: Bencher<'_, '_>, shape: Shape) {
        let document = document(shape);
        bencher.counter(BytesCount::of_str(&document.text)).bench_local(|| {
            serde_json::from_slice::<serde_json::Value>(black_box(document.text.as_bytes()))
        });
    }

    #[divan::bench(args = SHAPES)]
    fn encode_tree(bencher: Bencher<'_, '_>, shape: Shape) {
        let document = document(shape);
        let tree: serde_json::Value = serde_json::from_str(&document.text).expect("valid");
        bencher
            .counter(BytesCount::of_str(&document.text))
            .bench_local(|| serde_json::to_vec(black_box(&tree)));
    }

    /// The projection as a seed that keeps raw slices of the three columns of each row.
    #[derive(Clone, Copy)]
    struct Seed<'d> {
        rows: &'d [&'d str],
        columns: &'d [&'d str; 3],
    }

    type Row<'de> = [Option<&'de RawValue>; 3];

    impl<'de> DeserializeSeed<'de> for Seed<'_> {
        type Value = Vec<Row<'de>>;

        fn deserialize<D: Deserializer<'de>>(
            self,
            deserializer: D,
        ) -> Result<Self::Value, D::Error> {
            deserializer.deserialize_any(self)
        }
    }

    impl<'de> Visitor<'de> for Seed<'_> {
        type Value = Vec<Row<'de>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("rows")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
            let mut all = Vec::new();
            while let Some(rows) = elements.next_element_seed(self)? {
                all.extend(rows);
            }
            Ok(all)
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
            let mut rows = Vec::new();
            if let Some((step, rest)) = self.rows.split_first() {
                let inner = Seed { rows: rest, columns: self.columns };
                while let Some(name) = members.next_key::<&str>()? {
                    if name == *step {
                        rows = members.next_value_seed(inner)?;
                    } else {
                        members.next_value::<IgnoredAny>()?;
                    }
                }
                return Ok(rows);
            }
            let mut row = [None; 3];
            while let Some(name) = members.next_key::<&str>()? {
                match self.columns.iter().position(|column| *column == name) {
                    Some(at) => row[at] = Some(members.next_value()?),
                    None => {
                        members.next_value::<IgnoredAny>()?;
                    }
                }
            }
            rows.push(row);
            Ok(rows)
        }
    }

    #[divan::bench(args = SHAPES)]
    fn seed_with_raw_values(bencher: Bencher<'_, '_>, shape: Shape) {
        let document = document(shape);
        let seed = Seed { rows: document.rows, columns: &document.columns };
        bencher.counter(BytesCount::of_str(&document.text)).bench_local(|| {
            let mut deserializer =
                serde_json::Deserializer::from_slice(black_box(document.text.as_bytes()));
            let rows = seed.deserialize(&mut deserializer).expect("the document is valid");
            deserializer.end().expect("nothing follows");
            let mut out = Vec::with_capacity(32 * 1024);
            out.push(b'[');
            for (at, row) in rows.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                let mut opener = b'{';
                for (name, value) in document.columns.iter().zip(row) {
                    if let Some(value) = value {
                        out.push(opener);
                        out.push(b'"');
                        out.extend_from_slice(name.as_bytes());
                        out.extend_from_slice(b"\":");
                        out.extend_from_slice(value.get().as_bytes());
                        opener = b',';
                    }
                }
                out.push(b'}');
            }
            out.push(b']');
            out
        });
    }
}
