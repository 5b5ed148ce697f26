-- Ships with at least so many masts, and how deep the water of their home is.
return select s.name as ship, s.masts as masts, h.depth as depth
  from ships as s join harbours as h on h.harbour = s.home
  where s.masts >= "{masts}"
  order by s.name
  via route '/fleet?masts={masts}'
  using defaults masts = 0
  using method get
