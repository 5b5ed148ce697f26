-- Harbours, from a connector in Node.js.
create table harbours via harbours on select do find at "all"
