// The outcome of the current call: at once, or when promises and timers have run.

let outcome = { state: 0, value: undefined };
let finish = null;
// A call begins whose answer may come later.
function begin(then) {
    forgetTimers();
    expect(then);
}
// An answer is waited for; `then` makes of it what the host is given.
function expect(then) {
    outcome = { state: 0, value: undefined };
    finish = then || null;
}
function forgetTimers() {
    if (timers.length !== 0) { timers = []; }
    clock = 0;
}
function succeed(value) { if (outcome.state === 0) { outcome.state = 1; outcome.value = value; } }
function fail(error) { if (outcome.state === 0) { outcome.state = 2; outcome.value = error; } }

// The value of the call, its error thrown, or PENDING.
function poll() {
    if (outcome.state === 0) { return PENDING; }
    forgetTimers();
    if (outcome.state === 2) { throw outcome.value; }
    return finish ? finish(outcome.value) : outcome.value;
}

function isThenable(value) {
    if (value === null || typeof value !== 'object' && typeof value !== 'function') { return false; }
    isProbing = true;
    try {
        return typeof value.then === 'function';
    } finally {
        isProbing = false;
    }
}

// Waits for a promise; anything else is an answer at once.
function settle(value) {
    if (isThenable(value)) { value.then(succeed, fail); } else { succeed(value); }
    return poll();
}
