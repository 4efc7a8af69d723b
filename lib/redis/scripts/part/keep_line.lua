-- Keeps both sets of the line for at least twice the life of an entry.
for _, key in ipairs({line, lives}) do
  if redis.call('PTTL', key) < 2 * life then redis.call('PEXPIRE', key, 2 * life) end
end
