//! The answers of `examples/finding`: one product search of 50 items in three formats.
//!
//! The published experiment compared XML and Protocol Buffers on a captured answer of 84,387 and
//! 27,497 bytes (`docs/reference/bench.md`). These answers have the same shape and about the same
//! sizes, and everything in them is made up from a fixed seed, so each run gives the same bytes.
//!
//! In goes the schema of the example, out come the bodies. The rows are made once, as a value in the
//! JSON form of the messages; the formats are written from it.

use qlio_data::codec::json;
use qlio_data::codec::protobuf::{Schema, encode};
use qlio_data::{Number, Object, Value};

/// How many items are found.
pub const ITEMS: u32 = 50;

/// The message of an answer.
const MESSAGE: &str = "market.search.FindResponse";

/// Members that carry their currency as an attribute in XML, which the messages leave out.
const PRICES: &[&str] = &["shippingCost", "currentPrice", "convertedPrice", "buyNowPrice"];

/// One answer in all formats.
#[derive(Debug, Clone)]
pub struct Answers {
    /// In a SOAP envelope.
    pub xml: String,
    /// The message as bytes.
    pub protobuf: Vec<u8>,
    /// The message as JSON.
    pub json: String,
}

/// Makes the answers; `schema` is the text of `search.proto`.
///
/// # Errors
/// If the schema does not fit the rows.
pub fn answers(schema: &str) -> Result<Answers, String> {
    let schema = Schema::from_proto("search.proto", schema, &mut |_| None)
        .map_err(|error| error.to_string())?;
    let message = schema.message(MESSAGE).ok_or_else(|| format!("no message `{MESSAGE}`"))?;
    let response = response();
    let protobuf = encode(&response, &message).map_err(|error| error.to_string())?;
    let mut xml = String::from(
        "<?xml version='1.0' encoding='utf-8'?>\
         <soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\"><soap:Body>",
    );
    push_element(&mut xml, "findResponse", &response);
    xml.push_str("</soap:Body></soap:Envelope>");
    Ok(Answers { xml, protobuf, json: json::to_string(&response) })
}

/// A linear congruential generator (Knuth's constants): nothing here needs better randomness.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32 % sides
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.roll(count) == 0
    }

    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list.get(self.roll(list.len() as u32) as usize).copied().unwrap_or_default()
    }

    fn price(&mut self, max: u32) -> Value {
        let cents = if self.one_in(3) { self.roll(max) * 100 } else { self.roll(max * 100) };
        Value::Number(Number::Float(f64::from(cents) / 100.0))
    }
}

const MAKERS: &[&str] = &["Halden", "Norvik", "Brae & Sons", "Sextant", "Fulmar"];
const THINGS: &[&str] =
    &["Marine Binoculars 7x50", "Chart Plotter 9in", "Handheld VHF Radio", "Brass Ship's Clock"];
const EXTRAS: &[&str] =
    &["Waterproof, Black", "with Case & Strap", "Boxed, Never Used", "As Is, Glass Scratched"];
const NOTES: &[&str] =
    &["Tested & working, sold with all papers", "Small crack in the housing, see the pictures"];
const PLACES: &[&str] =
    &["Oban,Argyll,UK", "Leith,Edinburgh,UK", "Bergen,Norway", "Hirtshals,Denmark"];
const CONDITIONS: &[(&str, &str)] =
    &[("1000", "New"), ("3000", "Used"), ("7000", "For parts or not working")];

fn response() -> Value {
    let mut dice = Dice(0x6d61_726b_6574_0001);
    let items: Value = (0..ITEMS).map(|_| item(&mut dice)).collect();
    object([
        ("ack", Value::from("Success")),
        ("version", Value::from("1.12.0")),
        ("timestamp", Value::from("2012-06-22T00:51:16.538Z")),
        ("searchResult", object([("item", items)])),
        (
            "pagination",
            object([
                ("pageNumber", Value::int(1)),
                ("entriesPerPage", Value::from(ITEMS)),
                ("totalPages", Value::int(4241)),
                ("totalEntries", Value::int(212_027)),
            ]),
        ),
        ("searchUrl", Value::from("http://market.test/search?words=marine&perPage=50&page=1")),
    ])
}

fn item(dice: &mut Dice) -> Value {
    let id = format!("2{:05}{:06}", dice.roll(100_000), dice.roll(1_000_000));
    let title = format!(
        "{} {} {} - {} (No. {})",
        dice.pick(MAKERS),
        dice.pick(THINGS),
        1900 + dice.roll(112),
        dice.pick(EXTRAS),
        1000 + dice.roll(9000)
    );
    let slug: String =
        title.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let price = dice.price(900);
    let is_auction = dice.one_in(6);
    let (day, hour, minute) = (1 + dice.roll(28), dice.roll(24), dice.roll(60));
    let mut item = Object::new();
    let mut set = |name: &'static str, value: Value| {
        item.insert(name, value);
    };
    set("itemId", Value::from(id.as_str()));
    set("title", Value::from(title));
    set("marketPlace", Value::from("HARBOUR-UK"));
    if dice.one_in(5) {
        set("subtitle", Value::from(dice.pick(NOTES)));
    }
    set(
        "primaryCategory",
        object([
            ("categoryId", Value::from((170_000 + dice.roll(3) * 485).to_string())),
            ("categoryName", Value::from("Ship's Instruments & Navigation")),
        ]),
    );
    set(
        "pictureUrl",
        Value::from(format!(
            "http://thumbs{}.market.test/pictures/{id}_{}_1.jpg",
            1 + dice.roll(4),
            4000 + dice.roll(100)
        )),
    );
    set(
        "viewItemUrl",
        Value::from(format!("http://www.market.test/item/{slug}/{id}?from=search&k=7")),
    );
    if !dice.one_in(10) {
        set("productId", Value::from((103_000_000 + dice.roll(200_000)).to_string()));
    }
    set("paymentMethod", Value::from("Transfer"));
    set("automaticPayment", Value::Bool(dice.one_in(2)));
    if !dice.one_in(4) {
        set("postalCode", Value::from(format!("PA{} {}XY", 10 + dice.roll(80), 1 + dice.roll(9))));
    }
    set("location", Value::from(dice.pick(PLACES)));
    set("country", Value::from("GB"));
    set("shippingInfo", shipping(dice));
    set("sellingStatus", selling(dice, &price, is_auction));
    let mut listing = vec![
        ("bestOfferEnabled", Value::Bool(dice.one_in(3))),
        ("buyNowAvailable", Value::Bool(is_auction)),
    ];
    if is_auction {
        listing.push(("buyNowPrice", dice.price(1200)));
    }
    let time =
        |month: u32| Value::from(format!("2012-{month:02}-{day:02}T{hour:02}:{minute:02}:50.000Z"));
    listing.push(("startTime", time(5)));
    listing.push(("endTime", time(7)));
    listing.push(("listingType", Value::from(if is_auction { "Auction" } else { "FixedPrice" })));
    listing.push(("giftWrapping", Value::Bool(false)));
    set("listingInfo", object(listing));
    set("returnsAccepted", Value::Bool(dice.one_in(2)));
    let (code, name) = CONDITIONS[dice.roll(CONDITIONS.len() as u32) as usize];
    set(
        "condition",
        object([("conditionId", Value::from(code)), ("conditionName", Value::from(name))]),
    );
    set("hasVariations", Value::Bool(false));
    Value::object(item)
}

fn shipping(dice: &mut Dice) -> Value {
    let mut members = Vec::new();
    if !dice.one_in(12) {
        members.push(("shippingCost", dice.price(20)));
    }
    members.push(("shippingType", Value::from(dice.pick(&["Flat", "Calculated", "FreePickup"]))));
    members.push(("shipToLocations", Value::from("Worldwide")));
    members.push(("expeditedShipping", Value::Bool(dice.one_in(2))));
    members.push(("oneDayAvailable", Value::Bool(dice.one_in(4))));
    members.push(("handlingTime", Value::from(1 + dice.roll(4))));
    object(members)
}

fn selling(dice: &mut Dice, price: &Value, is_auction: bool) -> Value {
    let mut members = vec![("currentPrice", price.clone()), ("convertedPrice", price.clone())];
    if is_auction {
        members.push(("bidCount", Value::from(dice.roll(30))));
    }
    members.push(("sellingState", Value::from("Active")));
    let left =
        format!("P{}DT{}H{}M{}S", dice.roll(29), dice.roll(24), dice.roll(60), dice.roll(60));
    members.push(("timeLeft", Value::from(left)));
    object(members)
}

fn object(members: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::object(members.into_iter().collect())
}

/// Writes a value as elements; the nesting of the rows is fixed and small.
fn push_element(out: &mut String, name: &str, value: &Value) {
    if let Value::Array(elements) = value {
        for element in elements.iter() {
            push_element(out, name, element);
        }
        return;
    }
    out.extend(["<", name]);
    match name {
        "findResponse" => out.push_str(" xmlns=\"urn:market:search\""),
        "searchResult" => out.push_str(" count=\"50\""),
        "productId" => out.push_str(" type=\"ReferenceID\""),
        _ if PRICES.contains(&name) => out.push_str(" currencyId=\"GBP\""),
        _ => {}
    }
    out.push('>');
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter() {
                push_element(out, name, member);
            }
        }
        scalar => {
            for character in scalar.scalar_text().unwrap_or_default().chars() {
                match character {
                    '&' => out.push_str("&amp;"),
                    '<' => out.push_str("&lt;"),
                    other => out.push(other),
                }
            }
        }
    }
    out.extend(["</", name, ">"]);
}
