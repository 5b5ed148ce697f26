exports['patch status'] = function (args) {
    return args.status;
};
