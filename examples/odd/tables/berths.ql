/* Berths: Protocol Buffers, whatever the content type says. */
create table odd.berths
  on select get from "{config.odd.api}/berths.protobuf"
    resultset 'berths'
    using format 'protobuf' message 'harbour.Berths' from 'berths.proto'
