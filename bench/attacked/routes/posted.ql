return {"ok": true} via route '/posted' using method post
