return {"n": "{n}"} via route '/hello/{n}' using method get
