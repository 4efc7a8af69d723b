-- Tells how far a name is done, and notes that a period of it is done. What is noted only grows. Only the holder
-- of the name's lock is told and may note: what a former holder sends late changes nothing.
--
--   KEYS     lock, last period that is done
--   ARGV     token, period that is done (empty: only tell), ms for which this is kept, enrolment, floor
--   returns  {1, first period that is not done, time}
--            {3, 0, time}   the lock is not this token's; nothing was touched
--            {-1, 0, time}  not enrolled; nothing was touched
-- The floor is above every fencing token of before, and says nothing of periods.
--> now
if redis.call('MGET', 'quorumlock:enrolment')[1] ~= ARGV[4] then return {-1, 0, time} end
--> holder
if holder_of(KEYS[1], ARGV[1]) ~= ARGV[1] then return {3, 0, time} end
-- Anything else than the number of a period was written by another program.
local kind = redis.call('TYPE', KEYS[2]).ok
local written = kind == 'string' and redis.call('GETRANGE', KEYS[2], 0, 16) or ''
local done = tonumber(string.match(written, '^%d+$'))
if kind ~= 'none' and not (done and done < 9007199254740992) then
  return redis.error_reply('ERR quorumlock: ' .. KEYS[2] .. ' is another program\'s ' .. kind)
end
local period = tonumber(ARGV[2])
if period and not (done and done >= period) then
  redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
  done = period
elseif done then
  redis.call('PEXPIRE', KEYS[2], ARGV[3], 'GT')
end
return {1, done and done + 1 or 0, time}
