-- Reads a node's enrolment, or else begins its quarantine with a candidate.
--
--   KEYS     enrolment, candidate
--   ARGV     run id, candidate, the candidate's life ms
--   returns  {1, enrolment}  the node has an enrolment of this run
--            {2, candidate}  it has none. A candidate of this run that stands already is adopted and never
--                            overwritten. Each call prolongs its life, unless it is for another list of
--                            nodes: clients that want this list might wait for ever if nobody wants that one.
local mark = ARGV[1] .. ':'
local function is_this_runs(text) return text and string.sub(text, 1, #mark) == mark end
local function list_of(text) return string.match(text, '#%x+%.%d+%a%.(%x+)') end
local record = redis.call('GET', KEYS[1])
-- A node that was promoted in this run and does not report that any more keeps its record.
local promoted = record and not string.find(mark, '+', 1, true) and string.sub(record, 1, #mark) == ARGV[1] .. '+'
if promoted or is_this_runs(record) then return {1, record} end
local found = redis.call('GET', KEYS[2])
if not is_this_runs(found) then
  redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
  return {2, ARGV[2]}
end
if list_of(found) == list_of(ARGV[2]) then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
return {2, found}
