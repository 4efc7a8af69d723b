-- Renews locks. An expiry is never shortened, since a slow command must not end what a later one has promised.
--
--   KEYS     locks
--   ARGV     ttl ms, re-plant locks that are gone (1 or 0), then for each lock its token, its fence (0: none) and
--            how many us its validity had left when this was sent, then this node's time us at that moment at the
--            least (0: unknown), enrolment, floor, counters' life ms
--   returns  {time, votes}: one digit for each lock, or none if the node is not enrolled and nothing was touched
--            0  another token has the lock
--            1  this token has it, for at least ttl from now
--            2  re-planted
--            3  gone, or released by its token
--            4  too late: the validity that this was to prolong is over, or the lock is gone and this may be too
--               late. Nothing was touched.
--            5  not re-planted, because the server has no memory left
local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local found = redis.call('MGET', 'quorumlock:enrolment', unpack(KEYS))
local last = #ARGV - 5
if found[1] ~= ARGV[last + 2] then return {time, ''} end
local sent, floor, life = tonumber(ARGV[last + 1]), ARGV[last + 3], ARGV[last + 4]

local function exists(key) return redis.call('EXISTS', key) == 1 end
-- Returns nil if the key is set, or the vote for this lock: the others are still renewed if there is no memory for
-- it, or another program has another kind of value under a key of ours, which GET makes SET refuse.
local function why_not_set(...)
  local done = redis.pcall('SET', ...)
  if type(done) ~= 'table' or not done.err then return nil end
  if done.err:find('OOM', 1, true) then return '5' end
  if not done.err:find('WRONGTYPE', 1, true) then redis.call('SET', ...) end
  return '3'
end

local function replant(lock, token, fence)
  -- MGET returns nothing for another kind of value, which is another's.
  if exists(lock) then return '0' end
  local stays = ARGV[2] ~= '1' or exists('quorumlock:released:' .. lock .. ':' .. token)
  if stays or sent == 0 then return stays and '3' or '4' end
  local counter = 'quorumlock:fence:' .. lock
  local written = redis.call('MGET', counter)[1]
  local counted, least = tonumber(written or 0), tonumber(fence)
  -- No script of ours has written this counter (part/counter.lua), so the lock stays gone.
  local whole = counted and counted >= 0 and counted < 9007199254740992 and counted % 1 == 0
  if not whole then return '3' end
  local why
  if math.max(counted, floor) > least then
    -- Another holder may have had the lock here since, so an extend by token must not count this node.
    why = why_not_set('quorumlock:replanted:' .. lock, token, 'PX', life, 'GET')
  end
  if not why and counted < least then why = why_not_set(counter, fence, 'PX', life, 'GET') end
  return why or why_not_set(lock, token, 'PX', ARGV[1], 'GET') or '2'
end

local votes = {}
for i = 1, #KEYS do
  local token = ARGV[3 * i]
  if sent > 0 and time >= sent + ARGV[3 * i + 2] then
    votes[i] = '4'
  elseif found[i + 1] == token then
    redis.call('PEXPIRE', KEYS[i], ARGV[1], 'GT')
    votes[i] = '1'
  elseif found[i + 1] then
    votes[i] = '0'
  else
    votes[i] = replant(KEYS[i], token, ARGV[3 * i + 1])
  end
end
return {time, table.concat(votes)}
