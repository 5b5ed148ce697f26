-- Scenario A: everything the API answers.
return select * from bench.timeline where q = "{q}"
  via route '/a?q={q}' using method get;
