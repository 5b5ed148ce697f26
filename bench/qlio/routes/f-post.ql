-- Scenario F-post: all rows of a search by POST that is answered in Protocol Buffers.
return select searchResult.item as items from bench.published.protobuf where keywords = "{q}"
  via route '/f-post?q={q}' using method get;
