-- Growth: one call for the ids, then one call for each.
ids = select id from bench.ids where n = "{n}";
rows = select * from bench.cell where id in ("{ids}");
return select id as id, Count as count from rows
  via route '/fan?n={n}&q={q}' using method get;
