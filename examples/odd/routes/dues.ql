-- What each class of ships pays, in whole numbers.
return select class, number(replace(fee, ",", "")) as fee, number(`up to`) as metres
  from odd.dues
  order by fee desc
  via route '/dues'
  using method get
