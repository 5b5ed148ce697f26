exports['patch uri'] = function (args) {
    args.uri.setParam('page', 1);
    return args.uri;
};
