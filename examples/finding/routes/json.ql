return select searchResult.item as items, errorMessage as error
  from finding.json
  where keywords = "{keywords}"
  via route '/finding/keywords/json/{keywords}'
  using method get
