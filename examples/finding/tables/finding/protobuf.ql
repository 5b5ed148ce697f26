/* The same search; the answer is a message of Protocol Buffers. It is wrapped like the XML, so that
   the scripts are the same. */
create table finding.protobuf
  on select post to "{config.finding.api}/find.protobuf"
    using defaults limit = 50, offset = 0
    using bodyTemplate 'request.ejs' type 'text/xml;charset=utf-8'
    resultset 'findResponse'
    using format 'protobuf' message 'market.search.FindResponse' from 'search.proto' root 'findResponse'
