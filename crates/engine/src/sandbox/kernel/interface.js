// What the host calls, and what modules of the sandbox may know.

// What modules of the sandbox may know, and change: what `require` does without a module, and which modules
// the files of the realm get instead of those that they name.
const inner = {
    standIns: {},
    get isLoading() { return loads > 0; },
    get hasTimers() { return timers.length > 0; },
    missing(message) { throw new Error(message); },
};
return {
    load, tick, poll, bufferOf, closeSession, overlayOf, callHook, validate, callAuth,
    callTransformer, placeOf, callFunction, startRows, listsOfRows, parkRows, resumeRows, wholeRow, callRows, settleColumns, loadTemplate,
    renderTemplate, describeExports, allowFetch, describeConnector, beginConnector, setClock, runTimer, takeRequests,
    stateOfConnector, failureOfConnector, answerRequest, failRequest,
};
