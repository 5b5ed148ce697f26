-- Books a pilot; the body is JSON such as {"vessel": "Hermine", "when": "2026-05-01T05:40"}.
booked = insert into odd.pilots (vessel, when, boat) values ("{vessel}", "{when}", "{boat}")
return select ref as reference, vessel as vessel, boards as boards from booked
  via route '/pilots'
  using method post
