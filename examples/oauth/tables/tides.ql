/* High and low water of a `port`.
   The API wants an access token; qlio fetches one with the client's credentials and uses it until
   shortly before it expires. */
create table tides
  on select get from "{config.tides.api}/tides?port={^port}"
    resultset 'tides'
    using oauth2 client "{config.tides.client}" secret "{config.tides.secret}" token "{config.tides.api}/token" scope 'tides.read'
