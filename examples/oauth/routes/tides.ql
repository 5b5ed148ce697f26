return select at as at, metres as metres from tides where port = "{port}"
  via route '/tides/{port}'
  using method get
