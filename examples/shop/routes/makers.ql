/* Of each maker the two dearest products for a keyword, and what all of them cost together. */
return select {
    maker,
    n: count(*),
    eur: sum(price.amount),
    dearest: array_agg({title, price: price.amount} order by price.amount desc limit 2)
  }
  from shop.search
  where keyword = "{keyword}"
  group by maker
  order by maker
  via route '/makers/{keyword}'
  using method get
