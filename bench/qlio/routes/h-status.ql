-- Scenario H-status: three columns of a search answer, with "patch status".
return select id as id, from_user_name as user_name, text as text
  from bench.hooks.status where q = "{q}"
  via route '/h-status?q={q}' using method get;
