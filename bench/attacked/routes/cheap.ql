return select name as name from cheap where id = "{id}" via route '/cheap?id={id}' using method get
