/* All about one product: description, price, stock, colours.

   The API knows one `id` per call. Asked for several, qlio makes one call for each, all at the same
   time, and puts the rows together in the order of the ids. Name the columns you want: `select *`
   of several products would merge them into one object. */
create table shop.details on select get from "{config.shop.api}/details/{id}"
