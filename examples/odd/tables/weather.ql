/* The weather at a `station`: SOAP in both directions. */
create table odd.weather
  on select post to "{config.odd.api}/weather.xml"
    using headers 'SOAPAction' = 'urn:weather#GetObservation'
    using bodyTemplate 'weather.mu' type 'text/xml; charset=utf-8'
    resultset 'soap:Envelope.soap:Body.GetObservationResponse.observation'
    using xml arrays 'soap:Envelope.soap:Body.GetObservationResponse.observation'
