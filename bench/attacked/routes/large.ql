return select * from large where what = "{what}" via route '/large?what={what}' using method get
