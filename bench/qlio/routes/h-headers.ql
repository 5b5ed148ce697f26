-- Scenario H-headers: three columns of a search answer, with "patch headers".
return select id as id, from_user_name as user_name, text as text
  from bench.hooks.headers where q = "{q}"
  via route '/h-headers?q={q}' using method get;
