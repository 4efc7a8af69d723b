-- Replaces a node's enrolment by compare-and-set: a step of an operator who changes the list of nodes, or who
-- enrols new nodes.
--
--   KEYS     enrolment, candidate, members
--   ARGV     expected enrolment (empty: there is none), new enrolment, its members
--   returns  1  replaced; the candidate is gone, so no client waits for it any more
--            0  the enrolment is another one
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('SET', KEYS[3], ARGV[3])
redis.call('DEL', KEYS[2])
return 1
