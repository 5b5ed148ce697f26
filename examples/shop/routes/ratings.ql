/* A join of two APIs: every product found asks the reviews API for its own rows. */
return select s.title as title, r.rating as rating, r.latest[0].title as latest
  from shop.search as s, shop.reviews as r
  where s.keyword = "{keyword}" and r.product = s.id
  via route '/ratings/{keyword}'
  using method get
