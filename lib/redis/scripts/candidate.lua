-- KEYS enrolment, candidate. ARGV run id, candidate. Gives the enrolment where it is this run's,
-- else the candidate: one of this run that is there is adopted, never overwritten.
local mark = ARGV[1] .. ':'
for i = 1, 2 do
  local found = redis.call('GET', KEYS[i])
  if found and string.sub(found, 1, #mark) == mark then return {i, found} end
end
redis.call('SET', KEYS[2], ARGV[2])
return {2, ARGV[2]}
