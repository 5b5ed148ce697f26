/* Harbour dues: CSV behind OAuth 2. */
create table odd.dues
  on select get from "{config.odd.api}/dues.csv"
    using oauth2 client "{config.odd.client}" secret "{config.odd.secret}" token "{config.odd.api}/token" scope 'dues.read'
