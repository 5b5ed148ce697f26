<?xml version="1.0" encoding="utf-8"?>
<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/">
  <soap:Body>
    <GetObservation xmlns="urn:weather"><station>{{params.station}}</station></GetObservation>
  </soap:Body>
</soap:Envelope>
