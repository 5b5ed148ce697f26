/* What is cheaper than it was, the largest reduction first. */
create table shop.offers on select get from "{config.shop.api}/search/offers" resultset 'offers'
