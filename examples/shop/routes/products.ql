-- One call finds the products …
ids = select id from shop.search where keyword = "{keyword}"

-- … then two for each of them, all at the same time: ten for five products.
details = select * from shop.details where id in ("{ids}")
reviews = select * from shop.reviews where product in ("{ids}")

/* Products for a keyword, with what buyers think of them. */
return select d.id as id, d.title as title, r.reviewCount as reviewCount, r.rating as rating
  from details as d, reviews as r
  where d.id = r.product
  via route '/products?keyword={keyword}'
  using method get
