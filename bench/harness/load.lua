-- For wrk: rotate through prepared requests that differ in their key, so that nothing between client
-- and upstream may take two of them for one; print the figures as one line of JSON.

local PREPARED = 4096
local prepared, position = {}, 0

function init(args)
    local path = args[1]
    for key = 1, PREPARED do
        prepared[key] = wrk.format("GET", (path:gsub("{key}", "k" .. key)))
    end
end

function request()
    position = position % PREPARED + 1
    return prepared[position]
end

function done(summary, latency)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format(
        'result {"requests":%d,"failed":%d,"duration_us":%d,"bytes":%d,"p50_us":%d,"p99_us":%d,"max_us":%d}\n',
        summary.requests, failed, summary.duration, summary.bytes,
        latency:percentile(50), latency:percentile(99), latency.max
    ))
end
