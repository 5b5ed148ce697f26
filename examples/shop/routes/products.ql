-- One call finds the products …
ids = select id from shop.search where keyword = "{keyword}"

-- … then two for each of them, all at the same time: ten for five products.
details = select id as id, title as title from shop.details where id in ("{ids}")
reviews = select product as id, reviewCount as count, rating as rating
  from shop.reviews
  where product in ("{ids}")

/* Products for a keyword, with what buyers think of them. */
return select d.id as id, d.title as title, r.count as reviewCount, r.rating as rating
  from details as d, reviews as r
  where d.id = r.id
  via route '/products?keyword={keyword}'
  using method get
