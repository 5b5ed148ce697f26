-- Asks this server for this route, and an upstream that counts.
seen = select * from counted where n = "{n}"
again = select * from self where n = "{n}"
return {"seen": "{seen}", "again": "{again}"} via route '/loop?n={n}' using method get
