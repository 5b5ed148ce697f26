//! Fifty items of a marketplace: the data set of the published comparison of XML and Protocol Buffers
//! (`docs/reference/bench.md`). As XML it has about 83 KB, as Protocol Buffers about 27 KB.

use qlio_data::Value;

use super::{SEED, number, object, text};
use crate::random::Random;

/// Items of one answer.
pub const ITEMS: u64 = 50;

const WORDS: [&str; 16] = [
    "Brass",
    "Sextant",
    "Harbour",
    "Chart",
    "Antique",
    "Compass",
    "Signal",
    "Lantern",
    "Teak",
    "Barometer",
    "Rigging",
    "Café",
    "Zürich",
    "Maritime",
    "Polished",
    "Boxed",
];
const PLACES: [&str; 5] = ["Leith,UK", "Bergen,NO", "Hamburg,DE", "Genova,IT", "Málaga,ES"];
const CATEGORIES: [&str; 4] =
    ["Nautical Instruments", "Maps & Charts", "Ship Parts", "Lamps & Lanterns"];
const CONDITIONS: [(u64, &str); 3] = [(1000, "New"), (3000, "Used"), (7000, "For parts")];

/// The answer: acknowledgement, error message, and the items.
pub fn message() -> Value {
    let mut random = Random::new(SEED);
    let items = (0..ITEMS).map(|_| item(&mut random)).collect();
    object([
        ("ack", text("Success")),
        ("version", text("1.12.0")),
        ("timestamp", text("2012-06-22T00:51:16.538Z")),
        ("errorMessage", text("none")),
        ("item", Value::array(items)),
    ])
}

fn item(random: &mut Random) -> Value {
    let id = random.below(100_000_000_000, 999_999_999_999);
    let title: Vec<&str> = (0..6).map(|_| random.choose(&WORDS)).collect();
    let title = title.join(" ");
    let (condition, condition_name) = CONDITIONS[random.below(0, 3) as usize];
    let price = price(random);
    object([
        ("itemId", text(id.to_string())),
        ("title", text(&title)),
        ("subtitle", text(format!("{title}, as pictured"))),
        ("globalId", text("HARBOUR-UK")),
        ("galleryUrl", text(format!("http://pics.market.test/{id}_4031_1_thumbnail_140.jpg"))),
        (
            "viewItemUrl",
            text(format!(
                "http://www.market.test/item/{}/{id}?from=search",
                title.replace(' ', "-")
            )),
        ),
        ("paymentMethod", text("Transfer")),
        ("autoPay", Value::Bool(random.chance(30))),
        ("postalCode", text(format!("PA{} 8XY", random.below(10, 99)))),
        ("location", text(random.choose(&PLACES))),
        ("country", text("GB")),
        ("productId", text(random.below(10_000_000, 99_999_999).to_string())),
        ("topRatedListing", Value::Bool(random.chance(30))),
        ("returnsAccepted", Value::Bool(random.chance(70))),
        ("watchCount", Value::from(random.below(0, 120))),
        ("primaryCategory", category(random)),
        ("shippingInfo", shipping(random)),
        ("sellingStatus", selling(random, &price)),
        ("listingInfo", listing(random)),
        (
            "condition",
            object([
                ("conditionId", Value::from(condition)),
                ("conditionDisplayName", text(condition_name)),
            ]),
        ),
    ])
}

fn category(random: &mut Random) -> Value {
    object([
        ("categoryId", Value::from(random.below(10_000, 200_000))),
        ("categoryName", text(random.choose(&CATEGORIES))),
    ])
}

fn price(random: &mut Random) -> Value {
    // Quarters, so that every format holds the number exactly.
    let quarters = u32::try_from(random.below(4, 4_000)).unwrap_or(4);
    object([("currencyId", text("GBP")), ("amount", number(f64::from(quarters) / 4.0))])
}

fn shipping(random: &mut Random) -> Value {
    object([
        ("shippingServiceCost", price(random)),
        ("shippingType", text(if random.chance(60) { "Flat" } else { "FreePickup" })),
        ("shipToLocations", text("Worldwide")),
        ("handlingTime", Value::from(random.below(1, 9))),
    ])
}

fn selling(random: &mut Random, price: &Value) -> Value {
    object([
        ("currentPrice", price.clone()),
        ("convertedCurrentPrice", price.clone()),
        ("bidCount", Value::from(random.below(0, 40))),
        ("sellingState", text("Active")),
        (
            "timeLeft",
            text(format!(
                "P{}DT{}H{}M",
                random.below(0, 30),
                random.below(0, 24),
                random.below(0, 60)
            )),
        ),
    ])
}

fn listing(random: &mut Random) -> Value {
    let day = random.below(10, 29);
    object([
        ("bestOfferEnabled", Value::Bool(random.chance(50))),
        ("buyItNowAvailable", Value::Bool(random.chance(50))),
        ("startTime", text(format!("2012-05-{day}T20:30:50.000Z"))),
        ("endTime", text(format!("2012-07-{day}T20:30:50.000Z"))),
        ("listingType", text(if random.chance(50) { "FixedPrice" } else { "Auction" })),
    ])
}
