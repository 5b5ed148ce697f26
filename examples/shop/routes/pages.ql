/* What a page about a keyword shows: products, and inside of each its details and its newest review. */
return select {
    s.id,
    s.title,
    about: (select {d.description, left: d.stock.quantity} from shop.details as d where d.id = s.id),
    reviews: (
      select {
          count: r.reviewCount,
          r.rating,
          latest: [select {l.stars, l.title} from r.latest as l order by l.date desc limit 1]
        }
        from shop.reviews as r
        where r.product = s.id
    )
  }
  from shop.search as s
  where s.keyword = "{keyword}"
  via route '/pages/{keyword}'
  using method get
