-- Scenario E: all rows of a search that is answered in XML.
return select searchResult.item as items from bench.xml where q = "{q}"
  via route '/e?q={q}' using method get;
