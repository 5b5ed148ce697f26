/* Books a pilot: a form, as a browser would send it; the answer is CSV. */
create table odd.pilots
  on insert post to "{config.odd.api}/pilots.csv"
    using bodyTemplate 'pilots.txt' type 'application/x-www-form-urlencoded'
    using format 'csv'
