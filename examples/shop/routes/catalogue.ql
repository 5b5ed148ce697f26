/* Every product of the shop, the cheapest first; three pages of the API are one list here. */
return select title as title, price.amount as price from shop.catalogue order by price
  via route '/catalogue'
  using method get
