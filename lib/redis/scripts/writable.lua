#!lua
-- Does nothing. Because of its first line a server takes it for a script that writes, and refuses to run it while it
-- refuses every write.
--
--   returns  1
return 1
