-- Where fences end: the numbers from here on are no longer all different.
if fence >= 9007199254740992 then
  return redis.error_reply('ERR quorumlock: the fencing counter has reached 2^53')
end
