/* All about one product: description, price, stock, colours.

   The API knows one `id` per call. Asked for several, qlio makes one call for each, all at the same
   time; the `#` keeps the answers apart as rows instead of merging their fields. */
create table shop.details on select get from "{config.shop.api}/details/{#id}"
