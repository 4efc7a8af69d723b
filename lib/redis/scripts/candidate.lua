-- KEYS enrolment, candidate. ARGV run id, candidate, its life ms. Gives the enrolment if it is this
-- run's, else the candidate: one of this run that is there is adopted, never overwritten. Only the mark
-- of a client that has seen the cluster enrolled is added to it, and each look lets it live on.
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
