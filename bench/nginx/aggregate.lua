-- The work of scenarios B, C, D and G as a careful Lua author would write it by hand.
local cjson = require "cjson"

local capture, capture_multi = ngx.location.capture, ngx.location.capture_multi
local decode, encode = cjson.decode, cjson.encode

-- Large ids must come back digit for digit.
cjson.encode_number_precision(14)

local aggregate = {}

local function body_of(answer)
    if answer.status ~= 200 or answer.truncated then
        ngx.exit(502)
    end
    return decode(answer.body)
end

local function respond(value)
    local text = encode(value)
    ngx.header.content_length = #text
    ngx.print(text)
end

local function columns_of(path)
    local rows = body_of(capture(path, { args = ngx.var.args })).results
    local picked = {}
    for position = 1, #rows do
        local row = rows[position]
        picked[position] = { id = row.id, user_name = row.from_user_name, text = row.text }
    end
    respond(picked)
end

-- B: three columns of every row.
function aggregate.columns()
    columns_of("/sample/search")
end

-- G: the same columns of a large body.
function aggregate.large()
    columns_of("/sample/large")
end

-- C: ids from the first call, the rows for these ids from the second.
function aggregate.dependent()
    local found = body_of(capture("/sample/find", { args = ngx.var.args })).searchResult.item
    local ids = {}
    for position = 1, #found do
        ids[position] = found[position].itemId[1]
    end
    local items = body_of(capture("/sample/items", { args = { ids = table.concat(ids, ",") } })).Item
    local picked = {}
    for position = 1, #items do
        local item = items[position]
        picked[position] = { item.ItemID, item.Url, item.Location }
    end
    respond(picked)
end

-- D: five ids, then details and reviews of each in parallel, joined by id through a table.
function aggregate.joined()
    local products = body_of(capture("/sample/prods", { args = ngx.var.args })).products
    local count = #products
    local calls = {}
    for position = 1, count do
        local args = { args = "id=" .. ngx.escape_uri(products[position].pid) .. "&kind=Ref" }
        calls[position] = { "/sample/details", args }
        calls[count + position] = { "/sample/reviews", args }
    end
    local answers = { capture_multi(calls) }
    local ratings = {}
    for position = count + 1, 2 * count do
        local review = body_of(answers[position])
        ratings[review.id] = review.Rating
    end
    local rows = {}
    for position = 1, count do
        local detail = body_of(answers[position])
        local rating = ratings[detail.id]
        if rating ~= nil then
            rows[#rows + 1] = { id = detail.id, title = detail.Title, reviewCount = detail.Count, rating = rating }
        end
    end
    respond(rows)
end

return aggregate
