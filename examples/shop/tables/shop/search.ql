/* Finds products by a **keyword**, the best match first.
   A keyword that nothing matches gives no rows. */
create table shop.search
  on select get from "{config.shop.api}/search/products?keyword={^keyword}"
    resultset 'products'
