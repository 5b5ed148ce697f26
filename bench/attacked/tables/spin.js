exports['patch response'] = function (args) {
    for (var turns = 0; ; turns += 1) {
        args.body.turns = turns;
    }
};
