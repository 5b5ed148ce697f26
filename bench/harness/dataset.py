"""The data the upstream serves for scenarios A to D and G, and the right answers.

Everything is generated from one fixed seed, so two runs on two machines measure the same bytes.
The answers are computed here a second time, independently of every contender, from the same rows:
a contender is measured only when it gives exactly these.

The upstream serves plain files. Query parameters other than `id` do not change the answer; the load
varies them so that no two requests in flight are the same one.
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path

SEED = 20120131
TIMELINE_ROWS = 15
LISTING_ROWS = 20
PRODUCTS = 5
# Rows of the large body, about 8 MB of them.
LARGE_ROWS = 11_600

WORDS = (
    "gateway query table join route answer script upstream cache stream row column parallel "
    "product review rating search listing price market offer seller buyer camera lens tripod "
    "battery zoom flash sensor image frame café naïve Zürich 東京 über señor"
).split()


@dataclass(frozen=True)
class Scenario:
    """One kind of request: where it is sent, what it must answer, what it may cost upstream."""

    name: str
    title: str
    # Path and query; `{key}` is replaced by a different number for each request.
    path: str
    upstream_calls: int
    answer: object
    # What a contender answers that can't do the work, but shows the floor: nginx hands the body on.
    floor: object = None


def sentence(rng, words):
    return " ".join(rng.choice(WORDS) for _ in range(words))


def timeline(rng, count=TIMELINE_ROWS):
    """A search answer in the shape of a short-message service: an envelope around wide rows."""
    rows = []
    for number in range(count):
        user = f"{rng.choice(WORDS)}_{rng.randrange(1000)}"
        rows.append(
            {
                "created_at": f"Tue, 31 Jan 2012 {rng.randrange(24):02}:{rng.randrange(60):02}:00 +0000",
                "from_user": user,
                "from_user_id": rng.randrange(10**8, 10**9),
                "from_user_id_str": str(rng.randrange(10**8, 10**9)),
                "from_user_name": sentence(rng, 2).title(),
                "entities": {
                    "urls": [
                        {
                            "url": f"http://t.example/{rng.randrange(10**8):08x}",
                            "expanded_url": f"http://news.example/{rng.choice(WORDS)}/{rng.randrange(10**6)}",
                            "indices": [20, 41],
                        }
                    ],
                    "hashtags": [{"text": rng.choice(WORDS), "indices": [rng.randrange(9), 19]}],
                },
                "geo": None if number % 3 else {"type": "Point", "coordinates": [47.375, 8.5417]},
                "id": 164_000_000_000 + rng.randrange(10**9),
                "iso_language_code": rng.choice(["en", "de", "fr"]),
                "metadata": {"result_type": "recent", "recent_retweets": rng.randrange(50)},
                "profile_image_url": f"http://img.example/profiles/{rng.randrange(10**9)}/{user}_normal.png",
                "source": '<a href="http://client.example/" rel="nofollow">Client</a>',
                "text": f"{sentence(rng, 6)} \"{rng.choice(WORDS)}\"\n{sentence(rng, 2)}",
                "to_user": None,
                "truncated": number % 7 == 0,
            }
        )
    return {
        "completed_in": 0.093,
        "max_id": 165_000_000_000,
        "next_page": "?page=2&max_id=165000000000&q=ql",
        "page": 1,
        "query": "ql",
        "results": rows,
        "results_per_page": count,
        "since_id": 0,
    }


def listing(rng):
    """What the two dependent calls of scenario C see: ids first, then the rows for these ids."""
    ids = [str(rng.randrange(10**11, 10**12)) for _ in range(LISTING_ROWS)]
    found = [{"itemId": [item], "title": sentence(rng, 6), "viewItemURL": f"http://market.example/itm/{item}"} for item in ids]
    items = [
        {
            "ItemID": item,
            "Url": f"http://market.example/{rng.choice(WORDS)}/{item}",
            "Location": f"{sentence(rng, 1).title()}, {rng.choice(['CA', 'NY', 'ZH'])}",
            "Price": {"Value": rng.randrange(100, 99_900) / 100, "CurrencyID": "USD"},
            "Title": sentence(rng, 7),
            "Status": "Active",
        }
        for item in ids
    ]
    return found, items


def products(rng):
    """The five products of scenario D with one detail row and one review row each.

    The review answers are handed out in another order than the details, so the two lists do not
    line up and only a real join by `id` gives the right rows.
    """
    ids = [str(rng.randrange(10**7, 10**8)) for _ in range(PRODUCTS)]
    details = [{"id": pid, "Title": sentence(rng, 8).title(), "Count": rng.randrange(500), "Stock": rng.randrange(90)} for pid in ids]
    reviews = [{"id": pid, "Rating": rng.randrange(10, 50) / 10, "Best": sentence(rng, 5)} for pid in ids]
    shuffled = reviews[2:] + reviews[:2]
    return ids, details, shuffled


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def three_columns(answer):
    return [{"id": row["id"], "user_name": row["from_user_name"], "text": row["text"]} for row in answer["results"]]


def exchanges_of_d(folder: Path):
    """The paths of scenario D's upstream requests, and the array of their answers."""
    ids = [product["pid"] for product in json.loads((folder / "prods.json").read_bytes())["products"]]
    paths, files = ["/prods?k=bare"], ["prods.json"]
    for kind in ("details", "reviews"):
        paths += [f"/{kind}?id={pid}&kind=Ref" for pid in ids]
        files += [f"{kind}/{pid}.json" for pid in ids]
    return paths, [json.loads((folder / name).read_bytes()) for name in files]


def generate(folder: Path) -> dict[str, Scenario]:
    """Write the upstream's files below `folder`; return the scenarios with their right answers."""
    rng = random.Random(SEED)
    search = timeline(rng)
    found, items = listing(rng)
    ids, details, reviews = products(rng)
    large = timeline(random.Random(SEED + 1), LARGE_ROWS)

    files = {
        "large.json": large,
        "search.json": search,
        "find.json": {"ack": "Success", "searchResult": {"count": len(found), "item": found}},
        "items.json": {"Ack": "Success", "Item": items},
        "prods.json": {"products": [{"pid": pid, "name": sentence(rng, 3)} for pid in ids]},
    }
    for pid, detail, review in zip(ids, details, reviews, strict=True):
        files[f"details/{pid}.json"] = detail
        files[f"reviews/{pid}.json"] = review
    for name, value in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(compact(value))

    rating = {review["id"]: review["Rating"] for review in reviews}
    return {
        scenario.name: scenario
        for scenario in (
            Scenario("A", "pass-through, 11 KB", "/a?q={key}", 1, search, floor=search),
            Scenario(
                "B",
                "three columns of 15 rows",
                "/b?q={key}",
                1,
                three_columns(search),
            ),
            Scenario(
                "C",
                "two dependent calls",
                "/c?q={key}",
                2,
                [[item["ItemID"], item["Url"], item["Location"]] for item in items],
            ),
            Scenario(
                "D",
                "eleven calls with join",
                "/d?k={key}",
                11,
                [
                    {"id": row["id"], "title": row["Title"], "reviewCount": row["Count"], "rating": rating[row["id"]]}
                    for row in details
                ],
            ),
            Scenario("G", "three columns of an 8 MB body", "/g?q={key}", 1, three_columns(large), floor=large),
        )
    }
