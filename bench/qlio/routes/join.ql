-- Growth: many rows joined with as many.
r = select * from bench.rows where n = "{n}";
t = select * from bench.ratings where n = "{n}";
return select r.id as id, r.price as price, t.rating as rating from r as r, t as t where r.id = t.id
  via route '/join?n={n}&q={q}' using method get;
