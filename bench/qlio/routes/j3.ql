-- Scenario J3: three columns of the same rows.
return select title as title, location as location, viewItemUrl as viewItemUrl
  from bench.json.item where q = "{q}"
  via route '/j3?q={q}' using method get;
