#!lua
-- Changes nothing. Because of its first line a server takes it for a script that writes, and refuses to run it while it
-- refuses every write. On the way it looks whether this user may do what every lock needs. (redis.acl_check_cmd says
-- nothing of renamed commands, and crashes Redis 7.0 if words are missing.)
--
--   ARGV[1]  nobody's key
--   ARGV[2]  ... and on: the rights that are needed, as names of commands or as "~key*"
--   returns  1, or the first of these rights that this user lacks
--> refusal
local key = ARGV[1]
local words = {set = {key, '', 'XX'}, time = {}, exists = {key}, type = {key}, getrange = {key, 0, 0}}
for at = 2, #ARGV do
  local right = ARGV[at]
  local of_locks = string.match(right, '^~(.*)%*$')
  local about = refusal(of_locks and redis.pcall('exists', of_locks) or redis.pcall(right, unpack(words[right])))
  if about and (about == 'key') == (of_locks ~= nil) then return right end
end
return 1
