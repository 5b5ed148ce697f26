-- Ships, from a connector in Python.
create table ships via ships
  on select do list at "ships"
  on insert do add at "ships"
