-- Scenario F: all rows of a search that is answered in Protocol Buffers.
return select searchResult.item as items from bench.protobuf where q = "{q}"
  via route '/f?q={q}' using method get;
