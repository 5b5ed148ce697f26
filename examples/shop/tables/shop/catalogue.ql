/* All products, a page at a time: the API says how many there are. */
create table shop.catalogue
  on select get from "{config.shop.api}/search/catalogue?page={page}"
    resultset 'products'
    paginate by page 'page' total 'total' up to 5 pages
