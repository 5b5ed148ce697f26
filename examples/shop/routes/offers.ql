/* What is on offer and in which colours: the inner select asks once, the outer one once per offer. */
return select title as title, price.amount as price, colours as colours
  from shop.details
  where id in (select id from shop.offers)
  via route '/offers'
  using method get
