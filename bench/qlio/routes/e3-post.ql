-- Scenario E3-post: three columns of the same rows.
return select title as title, location as location, viewItemUrl as viewItemUrl
  from bench.published.xml.item where keywords = "{q}"
  via route '/e3-post?q={q}' using method get;
