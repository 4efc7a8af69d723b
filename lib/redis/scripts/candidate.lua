-- Reads a node's enrolment, or else begins its quarantine with a candidate.
--
--   KEYS     enrolment, candidate
--   ARGV     run id, candidate, the candidate's life ms
--   returns  {1, enrolment}  the node has an enrolment of this run
--            {2, candidate}  it has none. A candidate of this run that stands already is adopted and never
--                            overwritten; only the mark of a client that has seen the cluster enrolled is
--                            added to it. Each call prolongs its life.
local mark, known = ARGV[1] .. ':', ':known'
local function is_this_runs(text) return text and string.sub(text, 1, #mark) == mark end
local function is_known(text) return string.sub(text, -#known) == known end
local record = redis.call('GET', KEYS[1])
if is_this_runs(record) then return {1, record} end
local found = redis.call('GET', KEYS[2])
if not is_this_runs(found) then
  found = ARGV[2]
elseif is_known(ARGV[2]) and not is_known(found) then
  found = found .. known
end
redis.call('SET', KEYS[2], found, 'PX', ARGV[3])
return {2, found}
