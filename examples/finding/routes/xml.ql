return select searchResult.item as items, errorMessage as error
  from finding.xml
  where keywords = "{keywords}"
  via route '/finding/keywords/xml/{keywords}'
  using method get
