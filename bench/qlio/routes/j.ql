-- Scenario J: all rows of a search that is answered in JSON.
return select searchResult.item as items from bench.json where q = "{q}"
  via route '/j?q={q}' using method get;
