-- The last observations at a station.
return select kind as what, Value.$t as value, Value.unit as unit, At as at
  from odd.weather
  where station = "{station}"
  via route '/ports/{station}/weather'
  using method get
