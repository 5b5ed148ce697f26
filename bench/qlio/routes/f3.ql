-- Scenario F3: three columns of the same rows.
return select title as title, location as location, viewItemUrl as viewItemUrl
  from bench.protobuf.item where q = "{q}"
  via route '/f3?q={q}' using method get;
