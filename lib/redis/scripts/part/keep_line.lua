-- Both sets of the line are kept for at least twice as long as an entry.
for _, key in ipairs({line, lives}) do
  if redis.call('PTTL', key) < 2 * life then redis.call('PEXPIRE', key, 2 * life) end
end
