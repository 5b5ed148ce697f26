-- One search, three formats: the whole answer, and its rows.
create table bench.json
  on select get from 'http://{config.upstream}/formats/rows.json?q={^q}';
create table bench.json.item
  on select get from 'http://{config.upstream}/formats/rows.json?q={^q}'
  resultset 'searchResult.item';

create table bench.xml
  on select get from 'http://{config.upstream}/formats/rows.xml?q={^q}'
  resultset 'soap:Envelope.soap:Body.findResponse';
create table bench.xml.item
  on select get from 'http://{config.upstream}/formats/rows.xml?q={^q}'
  resultset 'soap:Envelope.soap:Body.findResponse.searchResult.item';

create table bench.protobuf
  on select get from 'http://{config.upstream}/formats/rows.protobuf?q={^q}'
  using format 'protobuf' message 'market.search.FindResponse' from 'search.proto';
create table bench.protobuf.item
  on select get from 'http://{config.upstream}/formats/rows.protobuf?q={^q}'
  resultset 'searchResult.item'
  using format 'protobuf' message 'market.search.FindResponse' from 'search.proto';
