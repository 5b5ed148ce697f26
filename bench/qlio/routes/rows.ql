-- Growth: two columns of many rows.
return select id as id, price as price from bench.rows where n = "{n}"
  via route '/rows?n={n}&q={q}' using method get;
