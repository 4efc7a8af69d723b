-- Tells how far a name is done, and notes that a period of it is done. What is noted only grows. Only the holder
-- whose fencing token the node's counter is at is told, and may note: a later holder has raised the counter. A holder
-- whose lock is gone has lost it, even if nobody has it now.
--
--   KEYS     counter of the name's lock, last period that is done, the lock
--   ARGV     fencing token, period that is done (empty: only tell), ms for which this is kept, owner token,
--            enrolment and what else the link appends
--   returns  {1, first period that is not done, time}
--            {3, 0, time}   the counter is not at this token, or the lock not the owner's
--            {-1, 0, time}  not enrolled; nothing was touched
-- The floor is above every fencing token of before, and says nothing of periods.
--> now
local found = redis.call('MGET', 'quorumlock:enrolment', KEYS[1])
if found[1] ~= ARGV[5] then return {-1, 0, time} end
--> read_mark
--> holder
local holder = holder_of(KEYS[3], ARGV[4])
-- The holder may have become a reader.
if holder == read_mark then holder = redis.call('ZSCORE', readers_of(KEYS[3]), ARGV[4]) and ARGV[4] end
if found[2] ~= ARGV[1] or holder ~= ARGV[4] then return {3, 0, time} end
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
