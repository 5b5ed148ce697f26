// What the assertions cannot say: every product comes in some colour.
exports.test = function (test, err, result) {
  test.ifError(err);
  result.body.forEach(function (row) {
    test.ok(row.colours.length > 0, row.title + ' has no colour');
  });
  test.done();
};
