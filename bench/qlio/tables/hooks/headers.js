exports['patch headers'] = function (args) {
    args.headers['x-client'] = 'bench';
    return args.headers;
};
