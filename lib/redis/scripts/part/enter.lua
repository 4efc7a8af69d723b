-- Puts the waiter into the line.
redis.call('ZADD', line, ticket, waiter)
redis.call('ZADD', lives, string.format('%.0f', math.floor(time / 1000) + life), waiter)
--> keep_line
