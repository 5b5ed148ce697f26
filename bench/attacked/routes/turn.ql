turn = require("turn.js")
return turn.spin(1) via route '/turn' using method get
