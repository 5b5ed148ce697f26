-- Scenario C: the second call needs the ids of the first.
return select ItemID, Url, Location from bench.items
  where itemId in (select itemId from bench.find where keywords = "{q}")
  via route '/c?q={q}' using method get;
