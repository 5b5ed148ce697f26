-- Scenario E3: three columns of the same rows.
return select title as title, location as location, viewItemUrl as viewItemUrl
  from bench.xml.item where q = "{q}"
  via route '/e3?q={q}' using method get;
