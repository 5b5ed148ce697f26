-- For wrk: rotate through prepared requests that differ in their key, so that nothing between client
-- and upstream may take two of them for one; print the figures as one line of JSON.

local PREPARED = 4096
local prepared, position = {}, 0

-- Arguments: method, path and body; `{key}` stands for the key in the latter two.
function init(args)
    local method, path, body = args[1], args[2], args[3]
    local headers = body and { ["Content-Type"] = "application/json" } or {}
    for position = 1, PREPARED do
        local key = "k" .. position
        local text = body and body:gsub("{key}", key) or nil
        prepared[position] = wrk.format(method, (path:gsub("{key}", key)), headers, text)
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
        'result {"requests":%d,"failed":%d,"duration_us":%d,"bytes":%d,"p50_us":%d,"p80_us":%d,"p99_us":%d,"max_us":%d}\n',
        summary.requests, failed, summary.duration, summary.bytes,
        latency:percentile(50), latency:percentile(80), latency:percentile(99), latency.max
    ))
end
