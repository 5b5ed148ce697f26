-- Scenario H: three columns of a search answer, with no hook.
return select id as id, from_user_name as user_name, text as text
  from bench.hooks where q = "{q}"
  via route '/h?q={q}' using method get;
