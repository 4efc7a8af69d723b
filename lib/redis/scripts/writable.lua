#!lua
-- Changes nothing. Because of its first line a server takes it for a script that writes, and refuses to run it while it
-- refuses every write. On the way it looks whether this user may do what every lock needs. (redis.acl_check_cmd says
-- nothing of renamed commands, and crashes Redis 7.0 if words are missing.)
--
--   ARGV[1]  nobody's key
--   ARGV[2]  ... and on: the rights that are needed, as names of commands or as "~key*"
--   returns  1, or the first of these rights that this user lacks
local key = ARGV[1]
local words = {set = {key, '', 'XX'}, time = {}, exists = {key}, type = {key}, getrange = {key, 0, 0}}
for at = 2, #ARGV do
  local right = ARGV[at]
  local of_locks = string.match(right, '^~(.*)%*$')
  local said = of_locks and redis.pcall('exists', of_locks) or redis.pcall(right, unpack(words[right]))
  local why = type(said) == 'table' and said.err or ''
  local forbidden = string.find(why, 'ACL failure') or string.find(why, 'user executing the script')
    or string.find(why, 'command called from script')
  local of_a_key = string.find(why, ' access ') and string.find(why, 'key')
  if forbidden and not of_a_key == not of_locks then return right end
end
return 1
