return select * from spinning where n = "{n}" via route '/spin?n={n}' using method get
