"""The scenarios as queries to the GraphQL gateway, and its answers as the scenarios expect them.

A GraphQL answer has the shape of the query: what the other contenders rename, nest or flatten is
done with aliases here, and the rest, the join of scenario D included, by `unwrap` after the measured
part, in favour of the gateway.
"""

ROW = (
    "created_at from_user from_user_id from_user_id_str from_user_name"
    " entities { urls { url expanded_url indices } hashtags { text indices } } geo { type coordinates }"
    " id iso_language_code metadata { result_type recent_retweets } profile_image_url source text to_user truncated"
)
ENVELOPE = "completed_in max_id next_page page query results_per_page since_id"
COLUMNS = "results { id user_name: from_user_name text }"


def operation(text):
    return f"query Q($key: String!) {{ {text} }}"


def columns(field):
    return operation(f"{field}(q: $key) {{ {COLUMNS} }}"), lambda answer: answer["data"][field]["results"]


def rows_of_items(answer):
    return [[item["ItemID"], item["Url"], item["Location"]] for item in answer["data"]["find"]["rows"]["Item"]]


def joined(answer):
    # The reviews come in another order than the details; GraphQL can nest, but not join by a value.
    products = answer["data"]["prods"]["products"]
    ratings = {product["reviews"]["id"]: product["reviews"]["rating"] for product in products}
    return [product["details"] | {"rating": ratings[product["details"]["id"]]} for product in products]


QUERIES = {
    "A": (operation(f"search(q: $key) {{ {ENVELOPE} results {{ {ROW} }} }}"), lambda answer: answer["data"]["search"]),
    "B": columns("search"),
    "C": (operation("find(keywords: $key) { rows { Item { ItemID Url Location } } }"), rows_of_items),
    "D": (
        operation("prods(k: $key) { products { details { id title: Title reviewCount: Count } reviews { id rating: Rating } } }"),
        joined,
    ),
    "G": columns("large"),
}
