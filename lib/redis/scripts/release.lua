-- KEYS[1] key, ARGV[1] token. 1: deleted; 0: nothing of ours there.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
