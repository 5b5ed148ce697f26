-- Scenario G: the columns of scenario B of a body of 8 MB.
return select id as id, from_user_name as user_name, text as text from bench.large where q = "{q}"
  via route '/g?q={q}' using method get;
