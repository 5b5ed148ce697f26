/* The same search; the answer is JSON. */
create table finding.json
  on select post to "{config.finding.api}/find.json"
    using defaults limit = 50, offset = 0
    using bodyTemplate 'request.ejs' type 'text/xml;charset=utf-8'
