-- Returns the names of all commands that scripts of ours call and that this user may not call, or that the server does
-- not have; "&quorumlock:*" if it may not send to our channels. Changes nothing.
--
--   KEYS[1]  nobody's key
--   ARGV[1]  nobody's channel
--> refusal
local key = KEYS[1]
local calls = {{'mget', key}, {'set', key, '', 'XX'}, {'get', key}, {'time'}, {'exists', key},
  {'del', key}, {'pexpire', key, 1}, {'pttl', key}, {'publish', ARGV[1], ''},
  {'zadd', key, 'XX', 1, '-'}, {'zrange', key, 0, 0}, {'zrem', key, '-'},
  {'zremrangebyscore', key, 0, 0}, {'zscore', key, '-'}, {'type', key},
  {'hset', key, '-', '', '-'}, {'hget', key, '-'}, {'hmget', key, '-'}, {'getrange', key, 0, 0},
  {'strlen', key}, {'zrangebyscore', key, 0, 0}, {'zremrangebyrank', key, 1, 0}, {'hdel', key, '-'}}
local missing = {}
for _, call in ipairs(calls) do
  local about = refusal(redis.pcall(unpack(call)))
  if about == 'command' then missing[#missing + 1] = call[1] end
  if about == 'channel' then missing[#missing + 1] = '&quorumlock:*' end
end
return missing
