-- Scenario H-response: three columns of a search answer, with "patch response".
return select id as id, from_user_name as user_name, text as text
  from bench.hooks.response where q = "{q}"
  via route '/h-response?q={q}' using method get;
