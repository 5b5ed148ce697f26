// Signs requests by OAuth 1.0 with HMAC-SHA1. The keys are in the settings, under `photos`.
var OAuth = require('oauth').OAuth;

exports['patch headers'] = function (args) {
    var keys = args.params.config.photos;
    var signer = new OAuth(null, null, keys.consumer, keys.consumerSecret, '1.0', null, 'HMAC-SHA1');
    args.headers.authorization =
        signer.authHeader(args.uri.format(), keys.token, keys.tokenSecret, args.statement.method);
    return args.headers;
};
