/* The photos of an `owner`.
   The API wants every request signed by OAuth 1.0; `sign.js` does that. */
create table photos
  on select get from "{config.photos.api}/photos?owner={^owner}&size={size}"
    using defaults size = 'small'
    using patch 'sign.js'
    resultset 'photos'
