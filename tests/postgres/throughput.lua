-- The requests of tests/postgres/throughput.py, for wrk: KIND PREFIX QUERY SIZE SEED. One kind at a time, unsigned but for a SAS in the query.

local threads = {}

function setup(thread)
  thread:set("number", #threads)
  table.insert(threads, thread)
end

function init(args)
  kind, prefix, query, seed = args[1], args[2], args[3], args[5]
  local file = io.open("/dev/urandom", "rb")
  content = file:read(tonumber(args[4]))
  file:close()
  count, bare = 0, 0
  sequence = (number + 1) * 7919
  text = string.rep("x", tonumber(args[4]))
end

function request()
  count = count + 1
  sequence = (sequence * 1103515245 + 12345) % 2147483648
  if kind == "read" then
    local row = sequence % 1000
    local path = string.format("%s(PartitionKey='p%d',RowKey='%04d')?%s", prefix, row % 10, row, query)
    return wrk.format("GET", path, { Accept = "application/json;odata=nometadata" })
  elseif kind == "insert" then
    local body = string.format('{"PartitionKey":"i%d","RowKey":"%s-%d-%d","v":"%s"}', count % 16, seed, number, count, text)
    return wrk.format("POST", prefix .. "?" .. query,
      { Accept = "application/json;odata=nometadata", Prefer = "return-no-content", ["Content-Type"] = "application/json" }, body)
  elseif kind == "put-message" then
    return wrk.format("POST", prefix .. "?" .. query, {}, "<QueueMessage><MessageText>" .. text .. "</MessageText></QueueMessage>")
  elseif kind == "get-message" then
    return wrk.format("GET", prefix .. "?visibilitytimeout=3600&" .. query)
  elseif kind == "put" then
    local path = string.format("%s-%s-%d-%d?%s", prefix, seed, number, count, query)
    return wrk.format("PUT", path, { ["x-ms-blob-type"] = "BlockBlob", ["Content-Type"] = "application/octet-stream" }, content)
  elseif kind == "get" then
    return wrk.format("GET", string.format("%s-%d?%s", prefix, sequence % 16, query))
  end
end

-- Only messages can be missing without an error.
if wrk then
  function response(_, _, body)
    if kind == "get-message" and #body < 200 then bare = bare + 1 end
  end
end

function done(summary)
  local empty = 0
  for _, thread in ipairs(threads) do empty = empty + thread:get("bare") end
  local errors = summary.errors
  io.write(string.format("RESULT %d %d %d %d\n", summary.requests, summary.duration,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout, empty))
end
