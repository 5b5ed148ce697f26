return select * from items where id = "{id}" via route '/item?id={id}' using method get
