-- Scenario B: three columns of every row.
return select id as id, from_user_name as user_name, text as text from bench.search where q = "{q}"
  via route '/b?q={q}' using method get;
