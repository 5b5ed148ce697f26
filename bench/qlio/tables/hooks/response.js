exports['patch response'] = function (args) {
    args.body.page += 1;
    return args.body;
};
