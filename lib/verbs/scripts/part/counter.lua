-- Reads the fencing counter. Our scripts write only whole numbers below 2^53, so anything else was written by
-- another program.
local counter = tonumber(written)
if written and not (counter and counter >= 0 and counter < 9007199254740992 and counter % 1 == 0) then
  return redis.error_reply('ERR quorumlock: the fencing counter is not a whole number below 2^53')
end
