-- Scenarios E and F as they were published: the search is a POST whose body an EJS template writes.
create table bench.published.xml
  on select post to 'http://{config.upstream}/published/rows.xml'
  using defaults limit = 50, offset = 0
  using bodyTemplate 'request.ejs' type 'text/xml;charset=utf-8'
  resultset 'soap:Envelope.soap:Body.findResponse';
create table bench.published.xml.item
  on select post to 'http://{config.upstream}/published/rows.xml'
  using defaults limit = 50, offset = 0
  using bodyTemplate 'request.ejs' type 'text/xml;charset=utf-8'
  resultset 'soap:Envelope.soap:Body.findResponse.searchResult.item';

create table bench.published.protobuf
  on select post to 'http://{config.upstream}/published/rows.protobuf'
  using defaults limit = 50, offset = 0
  using bodyTemplate 'request.ejs' type 'text/xml;charset=utf-8'
  using format 'protobuf' message 'market.search.FindResponse' from 'search.proto';
create table bench.published.protobuf.item
  on select post to 'http://{config.upstream}/published/rows.protobuf'
  using defaults limit = 50, offset = 0
  using bodyTemplate 'request.ejs' type 'text/xml;charset=utf-8'
  resultset 'searchResult.item'
  using format 'protobuf' message 'market.search.FindResponse' from 'search.proto';
