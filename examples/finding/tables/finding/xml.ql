/* Finds items by `keywords`; the answer is XML in a SOAP envelope. */
create table finding.xml
  on select post to "{config.finding.api}/find.xml"
    using defaults limit = 50, offset = 0
    using bodyTemplate 'request.ejs' type 'text/xml;charset=utf-8'
    resultset 'soap:Envelope.soap:Body.findResponse'
