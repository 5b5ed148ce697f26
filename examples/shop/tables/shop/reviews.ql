/* How buyers like one `product`: number of reviews, mean rating, the latest texts.

   `1|` asks for at most one product per call, in the order of the ids and never twice for the same;
   so these rows come in another order than those of `shop.details`. `with columns` says whose they are. */
create table shop.reviews
  on select get from "{config.shop.api}/reviews/{1|product}"
    with columns product = 'product'
