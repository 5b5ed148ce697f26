/* When the water is high in a harbour, the earliest first. */
return select time as time, metres as metres
  from tides
  where harbour = "{harbour}" and kind == 'high'
  order by time
  via route '/high-tides/{harbour}'
  using method get
