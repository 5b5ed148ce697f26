-- Scenario E-post: all rows of a search by POST that is answered in XML.
return select searchResult.item as items from bench.published.xml where keywords = "{q}"
  via route '/e-post?q={q}' using method get;
