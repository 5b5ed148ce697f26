-- Scenario H-uri: three columns of a search answer, with "patch uri".
return select id as id, from_user_name as user_name, text as text
  from bench.hooks.uri where q = "{q}"
  via route '/h-uri?q={q}' using method get;
