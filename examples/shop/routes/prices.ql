/* Three columns of every product found; whatever else the API sends is skipped while it is read. */
return select title as title, price.amount as price, price.currency as currency
  from shop.search
  where keyword = "{keyword}"
  via route '/prices?keyword={keyword}'
  using method get
