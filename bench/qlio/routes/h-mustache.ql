-- Scenario H-mustache: three columns of a search answer, with a mustache template.
return select id as id, from_user_name as user_name, text as text
  from bench.hooks.mustache where q = "{q}"
  via route '/h-mustache?q={q}' using method get;
