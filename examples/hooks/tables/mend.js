// The API takes an empty page for page 0, wants to be told its version, and says with status 200 that
// there is no such customer.
exports['patch uri'] = function (args) {
    args.uri.removeEmptyParams();
    args.uri.setParam('units', 'metric');
    return args.uri;
};

exports['patch headers'] = function (args) {
    args.headers['x-api-version'] = '2';
    return args.headers;
};

exports['patch status'] = function (args) {
    return args.body.code === 44 ? 404 : args.status;
};

exports['patch response'] = function (args) {
    args.body.parcels.forEach(function (parcel) { parcel.kg = parcel.grams / 1000; });
    return args.body;
};
