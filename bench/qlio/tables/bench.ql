-- The whole answer of the search API, envelope included.
create table bench.timeline
  on select get from 'http://{config.upstream}/search?q={^q}';

-- The rows of the same search API.
create table bench.search
  on select get from 'http://{config.upstream}/search?q={^q}'
  resultset 'results';

-- Items found by keywords.
create table bench.find
  on select get from 'http://{config.upstream}/find?keywords={^keywords}'
  resultset 'searchResult.item';

-- Items by id, up to twenty in one call.
create table bench.items
  on select get from 'http://{config.upstream}/items?ids={20|itemId}'
  resultset 'Item';

-- Products by keyword.
create table bench.prods
  on select get from 'http://{config.upstream}/prods?k={^k}'
  resultset 'products';

-- Details of one product; `#` makes a list of the answers for several ids.
create table bench.details
  on select get from 'http://{config.upstream}/details?id={#^id}&kind={kind}';

-- The review of one product, gathered alike.
create table bench.reviews
  on select get from 'http://{config.upstream}/reviews?id={#^id}&kind={kind}';
