-- A candidate names the node's TIME at which it began: "record;us", and behind that the TIMEs of other nodes.
local known = ':known'
local function is_known(text) return text and string.sub(text, -#known) == known end
local function begun(text) return tonumber(string.match(text, '^[^;]+;(%d+)')) end
local function beginning_now(text)
  local mark = is_known(text) and known or ''
  return string.format('%s;%.0f', string.sub(text, 1, #text - #mark), time) .. mark
end
