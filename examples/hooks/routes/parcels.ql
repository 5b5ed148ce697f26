return select no as no, place as place, kg as kg from parcels where customer = "{customer}"
  via route '/parcels/{customer}'
  using method get
