//! Hotels with rooms: the data set of the published client comparison (`docs/reference/bench.md`).

use qlio_data::Value;

use super::{SEED, object, text};
use crate::random::Random;

/// Hotels of one answer.
pub const HOTELS: usize = 50;
/// Rooms of each hotel.
pub const ROOMS: usize = 5;

const PROVIDERS: [&str; 5] = ["Northwind", "Sable & Pine", "Meridian", "Café Hôtels", "Harbour"];
const CURRENCIES: [&str; 4] = ["EUR", "USD", "CHF", "JPY"];
const OFFSETS: [i64; 5] = [-480, -300, 0, 60, 540];

/// A list of hotels, as the member `hotels`.
pub fn message(hotels: usize, rooms: usize) -> Value {
    let mut random = Random::new(SEED);
    let hotels = (0..hotels).map(|number| hotel(&mut random, number as u64, rooms)).collect();
    object([("hotels", Value::array(hotels))])
}

fn hotel(random: &mut Random, number: u64, rooms: usize) -> Value {
    let offset = OFFSETS[random.below(0, OFFSETS.len() as u64) as usize];
    object([
        ("id", text(format!("{}", 70_000 + number))),
        ("hotelCode", text(format!("HT{:05}", random.below(0, 100_000)))),
        ("hotelStatus", text(if random.chance(90) { "Open" } else { "OnRequest" })),
        ("hotelCurrency", text(random.choose(&CURRENCIES))),
        ("minutesOffsetUtc", Value::int(offset)),
        ("providerName", text(random.choose(&PROVIDERS))),
        ("rooms", Value::array((0..rooms).map(|room| self::room(random, room as u64)).collect())),
    ])
}

fn room(random: &mut Random, number: u64) -> Value {
    let cents = random.below(4_000, 90_000);
    object([
        ("id", Value::from(number + 1)),
        ("invCode", text(format!("R{:04}", random.below(0, 10_000)))),
        ("rackRate", text(format!("{}.{:02}", cents / 100, cents % 100))),
        ("hideRackRate", Value::Bool(random.chance(20))),
    ])
}
