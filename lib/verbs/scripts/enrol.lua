-- Enrols a node after its quarantine.
--
--   KEYS     enrolment, candidate, repairer, members
--   ARGV     the candidate's least age us, new enrolment, candidate, new members
--   returns  1  enrolled
--            0  that candidate is gone: the node has forgotten it, or another client was first; or it is not that
--               old by this node's clock. A client that has watched it by its own clock asks for no age.
--> now
--> begun
if redis.call('GET', KEYS[2]) ~= ARGV[3] then return 0 end
if tonumber(ARGV[1]) > 0 and not (time - (begun(ARGV[3]) or time) >= tonumber(ARGV[1])) then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('SET', KEYS[4], ARGV[4])
redis.call('DEL', KEYS[2])
redis.call('DEL', KEYS[3])
return 1
