return select * from dripping where what = "{what}" via route '/dripping?what={what}' using method get
