return select searchResult.item as items, errorMessage as error
  from finding.protobuf
  where keywords = "{keywords}"
  via route '/finding/keywords/protobuf/{keywords}'
  using method get
