-- Free berths that are deep enough.
return select id, depthCm / 100 as depth
  from odd.berths
  where isFree == true and depthCm >= number("{depth}") * 100
  order by depth desc
  via route '/berths?depth={depth}'
  using defaults depth = 0
  using method get
