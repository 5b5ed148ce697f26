-- Scenario H: the rows of the search API by POST, without a hook and with each of them.
create table bench.hooks
  on select post to 'http://{config.upstream}/hooks/search?q={^q}'
  resultset 'results';
create table bench.hooks.uri
  on select post to 'http://{config.upstream}/hooks/search?q={^q}'
  using patch 'hooks/uri.js' resultset 'results';
create table bench.hooks.headers
  on select post to 'http://{config.upstream}/hooks/search?q={^q}'
  using patch 'hooks/headers.js' resultset 'results';
create table bench.hooks.status
  on select post to 'http://{config.upstream}/hooks/search?q={^q}'
  using patch 'hooks/status.js' resultset 'results';
create table bench.hooks.response
  on select post to 'http://{config.upstream}/hooks/search?q={^q}'
  using patch 'hooks/response.js' resultset 'results';
create table bench.hooks.mustache
  on select post to 'http://{config.upstream}/hooks/search?q={^q}'
  using defaults rows = 15
  using bodyTemplate 'hooks/body.mu' type 'application/json' resultset 'results';
create table bench.hooks.ejs
  on select post to 'http://{config.upstream}/hooks/search?q={^q}'
  using defaults rows = 15
  using bodyTemplate 'hooks/body.ejs' type 'application/json' resultset 'results';
