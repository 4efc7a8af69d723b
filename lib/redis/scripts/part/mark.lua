-- Marks the waiter's entry, so that it is spent once the lock is gone.
local lives_until = waiter ~= '' and redis.call('ZSCORE', lives, waiter)
if lives_until and lives_until % 1 == 0 then
  redis.call('ZADD', lives, lives_until .. '.5', waiter)
end
