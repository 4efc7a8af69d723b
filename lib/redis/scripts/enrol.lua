-- Enrols a node after its quarantine.
--
--   KEYS     enrolment, candidate, repairer, members
--   ARGV     new enrolment, candidate, new members
--   returns  1  enrolled
--            0  that candidate is gone: the node has forgotten it, or another client was first
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[4], ARGV[3])
redis.call('DEL', KEYS[2])
redis.call('DEL', KEYS[3])
return 1
