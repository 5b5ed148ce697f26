-- All rows have the same key.
a = select * from rows where n = "{n}" and kind = 'equal'
b = select * from rows where n = "{n}" and kind = 'equal'
return select a.v as l, b.v as r, b.k as k from a as a, b as b where a.k = b.k via route '/equal?n={n}' using method get
