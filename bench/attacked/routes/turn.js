exports.spin = function (from) {
    for (var turns = from; ; turns += 1) {
        this.turns = turns;
    }
};
