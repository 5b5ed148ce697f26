// Timers run on a clock of their own: nobody waits, they only come in order.

let clock = 0;
let timerSequence = 0;
let timers = [];
function setTimer(callback, delay, rest, every) {
    if (typeof callback !== 'function') { throw new TypeError('a timer needs a function'); }
    if (timers.length >= TIMERS_MAX) { throw new RangeError('too many timers'); }
    delay = Math.max(1, Math.trunc(Number(delay)) || 1);
    return insertTimer({ id: ++timerSequence, due: clock + delay, callback, rest, every: every ? delay : 0 });
}
function insertTimer(timer) {
    let low = 0;
    let high = timers.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (timers[middle].due > timer.due) { low = middle + 1; } else { high = middle; }
    }
    // Latest first, so that the next one is taken from the end; of equal ones the older comes out first.
    timers.splice(low, 0, timer);
    return timer.id;
}
function clearTimer(id) { timers = timers.filter((timer) => timer.id !== id); }
hidden('setTimeout', (callback, delay, ...rest) => setTimer(callback, delay, rest, false));
hidden('setInterval', (callback, delay, ...rest) => setTimer(callback, delay, rest, true));
hidden('setImmediate', (callback, ...rest) => setTimer(callback, 0, rest, false));
hidden('clearTimeout', clearTimer);
hidden('clearInterval', clearTimer);
hidden('clearImmediate', clearTimer);
if (typeof queueMicrotask !== 'function') { hidden('queueMicrotask', (job) => { Promise.resolve().then(job); }); }

// Runs the next timer. Without one, or with one beyond the deadline, nothing more can happen.
function tick(deadline) {
    const timer = timers.pop();
    if (!timer || timer.due > deadline) { return false; }
    clock = timer.due;
    fire(timer, clock);
    return true;
}

// Calls what a timer is for; what comes again does so from `now` on.
function fire(timer, now) {
    if (timer.every) { timer.due = now + timer.every; insertTimer(timer); }
    try {
        timer.callback.apply(undefined, timer.rest);
    } catch (error) {
        fail(error);
    }
}
