-- What a refused call of redis.pcall is about, if this user may not make it: "command", "key" or "channel"; else nil.
-- Redis 7.0 says "user executing the script", later servers "ACL failure in script". A command that was renamed is
-- missing, too.
local function refusal(said)
  local why = type(said) == 'table' and said.err or ''
  local forbidden = string.find(why, 'ACL failure') or string.find(why, 'user executing the script')
    or string.find(why, 'command called from script')
  if not forbidden then return nil end
  if string.find(why, ' access ') and string.find(why, 'key') then return 'key' end
  return string.find(why, 'channel') and 'channel' or 'command'
end
