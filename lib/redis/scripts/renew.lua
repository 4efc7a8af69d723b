-- KEYS[1] key, ARGV[1] token, ARGV[2] ttl in ms. 1: ours, for at least ttl now; 0: another's;
-- 3: gone. Never shortens: a slow answer must not end what a later round has promised.
local current = redis.call('GET', KEYS[1])
if current == ARGV[1] then
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
  return 1
end
if current then
  return 0
end
return 3
