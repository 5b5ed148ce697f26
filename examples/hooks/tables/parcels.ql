/* The parcels of a `customer`. The API has habits that no caller should have to know; `mend.js` does. */
create table parcels
  on select get from "{config.parcels.api}/parcels?customer={^customer}&page={page}"
    using patch 'mend.js'
    resultset 'parcels'
    pass status 404
