-- The first key has four values, the second one is different in each row.
a = select * from rows where n = "{n}" and kind = 'few'
b = select * from rows where n = "{n}" and kind = 'few'
return select a.v, b.v from a as a, b as b where a.k = b.k and a.v = b.v via route '/few?n={n}' using method get
