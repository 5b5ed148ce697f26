-- Scenario H-ejs: three columns of a search answer, with an EJS template.
return select id as id, from_user_name as user_name, text as text
  from bench.hooks.ejs where q = "{q}"
  via route '/h-ejs?q={q}' using method get;
