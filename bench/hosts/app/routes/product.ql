return select title as title, price as price from product where id = '{id}'
  via route '/products/{id}' using method get
