-- The large body, its rows.
create table bench.large
  on select get from 'http://{config.upstream}/large?q={^q}'
  resultset 'results';

-- As many ids as asked for, and the row of one id.
create table bench.ids
  on select get from 'http://{config.upstream}/ids?n={^n}'
  resultset 'ids';
create table bench.cell
  on select get from 'http://{config.upstream}/cell?id={#^id}';

-- As many rows as asked for, and a rating for each of them.
create table bench.rows
  on select get from 'http://{config.upstream}/rows?n={^n}'
  resultset 'rows';
create table bench.ratings
  on select get from 'http://{config.upstream}/ratings?n={^n}'
  resultset 'ratings';
