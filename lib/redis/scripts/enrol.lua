-- KEYS enrolment, candidate, repairer. ARGV enrolment, candidate. 1: enrolled; 0: that candidate is not there
-- any more, so that the node has forgotten it or somebody else was first.
if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('DEL', KEYS[2])
redis.call('DEL', KEYS[3])
return 1
