-- Scenario D: one call for five ids, ten calls side by side, one join.
p = select pid from bench.prods where k = "{k}";
d = select * from bench.details where id in ("{p}") and kind = "Ref";
r = select * from bench.reviews where id in ("{p}") and kind = "Ref";
return select d.id as id, d.Title as title, d.Count as reviewCount, r.Rating as rating
  from d as d, r as r where d.id = r.id
  via route '/d?k={k}' using method get;
