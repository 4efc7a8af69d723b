-- Reads a node's enrolment, or else begins its quarantine with a candidate.
--
--   KEYS     enrolment, candidate
--   ARGV     patience ms, run id, candidate, the candidate's life ms
--   returns  {1, enrolment}        the node has an enrolment of this run
--            {2, candidate, time}  it has none. A candidate of this run that stands already is adopted and not
--                                  overwritten, unless it begins in the future: then the node's clock was set
--                                  back. Each call prolongs its life, unless it is for another list of nodes. If
--                                  no client of that list has looked for longer than our patience, it is
--                                  replaced: clients of this list might wait for ever if nobody wants that one.
--> now
--> begun
local mark = ARGV[2] .. ':'
local function is_this_runs(text) return text and string.sub(text, 1, #mark) == mark end
local function list_of(text) return string.match(text, '#%x+%.%d+%a%.(%x+)') end
local record = redis.call('GET', KEYS[1])
-- A node that was promoted in this run and does not report that any more keeps its record.
local promoted = record and not string.find(mark, '+', 1, true) and string.sub(record, 1, #mark) == ARGV[2] .. '+'
if promoted or is_this_runs(record) then return {1, record} end
local found = redis.call('GET', KEYS[2])
local text = found
local since = is_this_runs(found) and begun(found)
if not since or since > time then
  text = beginning_now(ARGV[3])
elseif list_of(found) ~= list_of(ARGV[3]) and redis.call('PTTL', KEYS[2]) < ARGV[4] - ARGV[1] then
  text = beginning_now(ARGV[3])
end
if text ~= found then
  redis.call('SET', KEYS[2], text, 'PX', ARGV[4])
elseif list_of(text) == list_of(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
return {2, text, time}
