-- A candidate names the node's TIME at which it began: "record;us", and behind that the TIMEs of other nodes.
local function begun(text) return tonumber(string.match(text, '^[^;]+;(%d+)')) end
local function beginning_now(text) return string.format('%s;%.0f', text, time) end
