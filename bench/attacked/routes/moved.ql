return select * from moved via route '/moved' using method get
