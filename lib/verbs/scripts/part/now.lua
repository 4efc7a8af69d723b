local now = redis.call('TIME')
local time = now[1] * 1000000 + now[2]
local ms = math.floor(time / 1000)
