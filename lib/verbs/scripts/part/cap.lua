-- From 2^53 on the numbers of Lua are not all different, so fences end here.
if fence >= 9007199254740992 then
  return redis.error_reply('ERR quorumlock: the fencing counter has reached 2^53')
end
