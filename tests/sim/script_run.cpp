#include "sim/script_run.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <lua.hpp>
#include <map>
#include <new>
#include <stdexcept>

#include "lock/mutants.hpp"
#include "sim/data_commands.hpp"
#include "sim/resp.hpp"
#include "sim/script_mutants.hpp"

namespace quorumlock::sim {
namespace {

/// The data that a script's calls of the server need during one run of the script.
struct Run {
  const Moment& moment;
  Refusals refusals;
  bool has_written = false;
  std::string mistake = {};  ///< set if the script calls a command that does not exist
};

/// Puts a reply on Lua's stack, converted as Redis does it, and removes it from the front of the
/// text.
void push_reply(lua_State* lua, std::string_view& reply) {
  const char kind = reply.front();
  if (kind == '+' || kind == '-') {
    const std::string_view line = resp::line_of(reply);
    lua_createtable(lua, 0, 1);
    lua_pushlstring(lua, line.data(), line.size());
    lua_setfield(lua, -2, kind == '+' ? "ok" : "err");
    reply.remove_prefix(line.size() + 3);
    return;
  }
  const std::int64_t number = resp::take_number(reply);
  if (kind == ':') {
    lua_pushnumber(lua, static_cast<lua_Number>(number));
  } else if (number < 0) {
    lua_pushboolean(lua, 0);
  } else if (kind == '$') {
    const auto size = static_cast<std::size_t>(number);
    lua_pushlstring(lua, reply.data(), size);
    reply.remove_prefix(size + 2);
  } else {
    lua_createtable(lua, static_cast<int>(number), 0);
    for (int i = 1; i <= number; ++i) {
      push_reply(lua, reply);
      lua_rawseti(lua, -2, i);
    }
  }
}

std::int64_t truncated(lua_Number number) {
  // The processor converts a number out of range to the least integer.
  constexpr lua_Number limit = 9223372036854775808.0;
  const bool fits = number >= -limit && number < limit;
  return fits ? static_cast<std::int64_t>(number) : std::numeric_limits<std::int64_t>::min();
}

std::string_view text_at(lua_State* lua, int place) {
  std::size_t size = 0;
  const char* const text = lua_tolstring(lua, place, &size);
  return {text, size};
}

/// The same of an error or a status, which Redis ends at the first NUL.
std::string_view line_at(lua_State* lua, int place) {
  return lua_tostring(lua, place);
}

/// Takes a value off Lua's stack and appends it to the reply, converted as Redis does it: numbers
/// are truncated, false is nil, an array ends at its first nil.
void take_reply(lua_State* lua, std::string& reply) {
  const int type = lua_type(lua, -1);
  if (type == LUA_TSTRING) {
    resp::append_bulk(reply, text_at(lua, -1));
  } else if (type == LUA_TNUMBER) {
    resp::append_line(reply, ':', truncated(lua_tonumber(lua, -1)));
  } else if (type == LUA_TBOOLEAN && lua_toboolean(lua, -1) != 0) {
    resp::append_line(reply, ':', 1);
  } else if (type == LUA_TTABLE) {
    lua_getfield(lua, -1, "err");
    lua_getfield(lua, -2, "ok");
    if (lua_isstring(lua, -2) != 0) {
      reply += resp::error(line_at(lua, -2));
    } else if (lua_isstring(lua, -1) != 0) {
      reply += resp::status(line_at(lua, -1));
    } else {
      int size = 0;
      for (;; ++size) {
        lua_rawgeti(lua, -3, size + 1);
        const bool ends = lua_isnil(lua, -1);
        lua_pop(lua, 1);
        if (ends) break;
      }
      resp::append_line(reply, '*', size);
      for (int i = 1; i <= size; ++i) {
        lua_rawgeti(lua, -3, i);
        take_reply(lua, reply);
      }
    }
    lua_pop(lua, 2);
  } else {
    reply += resp::nil;
  }
  lua_pop(lua, 1);
}

/// Reads the arguments on Lua's stack as a command; empty if Redis would refuse them. `memory` only
/// grows, so that its strings keep their capacity.
Arguments read_words(lua_State* lua, Words& memory) {
  const auto size = static_cast<std::size_t>(lua_gettop(lua));
  if (memory.size() < size) memory.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const int place = static_cast<int>(i) + 1;
    const int type = lua_type(lua, place);
    if (type == LUA_TNUMBER) {
      memory[i] = data::number_text(lua_tonumber(lua, place));
    } else if (type == LUA_TSTRING) {
      memory[i].assign(text_at(lua, place));
    } else {
      return {};
    }
  }
  return {memory.data(), size};
}

/// Returns the server's answer to a command of a script.
std::string answer(Run& run, Arguments words) {
  std::string error;
  const Command* const command = find_command(words, error);
  if (command == nullptr || command->run == nullptr) {
    run.mistake = "a script calls what the simulated server does not have: " + words[0];
    return resp::error(run.mistake);
  }
  const bool writes = command->is(Command::writes);
  if (writes && !run.refusals.write.empty()) return resp::error(run.refusals.write);
  if (command->is(Command::grows) && !run.refusals.growth.empty() && !run.has_written) {
    return resp::error(run.refusals.growth);
  }
  run.has_written = run.has_written || writes;
  const Moment& moment = run.moment;
  if (writes && moment.journal != nullptr) {
    moment.journal->note(*moment.keys, words, moment.now_ms());
  }
  return command->run(run.moment, words);
}

/// Puts the answer on Lua's stack. Returns whether the answer is an error.
bool push_answer(lua_State* lua) {
  thread_local Words memory;
  Run& run = **static_cast<Run**>(lua_touserdata(lua, lua_upvalueindex(1)));
  const Arguments words = read_words(lua, memory);
  if (words.empty()) {
    run.mistake = "a script calls the server with what is neither a text nor a number";
  }
  const std::string reply = words.empty() ? resp::error(run.mistake) : answer(run, words);
  std::string_view rest = reply;
  push_reply(lua, rest);
  return resp::is_error(reply);
}

// Lua calls the functions below, and they may leave by lua_error: they must have no C++ objects to
// destroy then.

int redis_call(lua_State* lua) {
  return push_answer(lua) ? lua_error(lua) : 1;
}

int redis_pcall(lua_State* lua) {
  push_answer(lua);
  return 1;
}

int redis_error_reply(lua_State* lua) {
  luaL_checktype(lua, 1, LUA_TSTRING);
  lua_createtable(lua, 0, 1);
  lua_pushvalue(lua, 1);
  lua_setfield(lua, -2, "err");
  return 1;
}

/// Lua's own pcall, except that it catches only the text of a server's error, as in Redis. A
/// mistake of the script itself is not caught, so that it is found.
int caught_call(lua_State* lua) {
  lua_pushboolean(lua, 1);
  lua_insert(lua, 1);
  if (lua_pcall(lua, lua_gettop(lua) - 2, LUA_MULTRET, 0) != 0) {
    if (!lua_istable(lua, -1)) return lua_error(lua);
    lua_getfield(lua, -1, "err");
    lua_pushboolean(lua, 0);
    lua_insert(lua, -2);
    return 2;
  }
  return lua_gettop(lua);
}

/// Adds the line of the script to a server's error.
int add_place(lua_State* lua) {
  if (!lua_istable(lua, 1)) return 1;
  lua_Debug at;
  for (int level = 1; lua_getstack(lua, level, &at) != 0; ++level) {
    if (lua_getinfo(lua, "Sl", &at) == 0 || at.currentline < 0) continue;
    lua_pushinteger(lua, at.currentline);
    lua_setfield(lua, 1, "line");
    break;
  }
  lua_settop(lua, 1);
  return 1;
}

int refuse_global(lua_State* lua) {
  return luaL_error(lua, "a script has no global variable %s", lua_tostring(lua, 2));
}

/// Allocates for Lua with C++'s operators, which the simulator has made fast
/// (world/allocation.cpp).
void* allocate(void*, void* old, std::size_t old_size, std::size_t size) {
  void* const memory = size > 0 ? ::operator new(size, std::nothrow) : nullptr;
  if (size > 0 && memory == nullptr) return nullptr;  // Lua keeps the old one
  if (old != nullptr) {
    if (size > 0) std::memcpy(memory, old, std::min(old_size, size));
    ::operator delete(old);
  }
  return memory;
}

class Lua {
 public:
  Lua() : state_(lua_newstate(allocate, nullptr)) {
    if (state_ == nullptr) state_ = luaL_newstate();  // some builds have their own allocator only
    if (state_ == nullptr) throw std::bad_alloc();
    luaJIT_setmode(state_, 0,
                   LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);  // scripts are too short for it
    const luaL_Reg libraries[] = {{"", luaopen_base},
                                  {LUA_TABLIBNAME, luaopen_table},
                                  {LUA_STRLIBNAME, luaopen_string},
                                  {LUA_MATHLIBNAME, luaopen_math}};
    for (const luaL_Reg& library : libraries) {
      lua_pushcfunction(state_, library.func);
      lua_pushstring(state_, library.name);
      lua_call(state_, 1, 0);
    }
    lua_pushcfunction(state_, caught_call);
    lua_setglobal(state_, "pcall");
    lua_newtable(state_);
    add("call", redis_call);
    add("pcall", redis_pcall);
    add("error_reply", redis_error_reply);
    lua_setglobal(state_, "redis");
    lua_newtable(state_);
    for (const char* const event : {"__index", "__newindex"}) {
      lua_pushcfunction(state_, refuse_global);
      lua_setfield(state_, -2, event);
    }
    lua_setmetatable(state_, LUA_GLOBALSINDEX);
    // These three stay at the bottom of the stack.
    lua_pushcfunction(state_, add_place);
    for (const char* const name : {"KEYS", "ARGV"}) {
      lua_newtable(state_);
      lua_pushstring(state_, name);
      lua_pushvalue(state_, -2);
      lua_rawset(state_, LUA_GLOBALSINDEX);
    }
  }
  ~Lua() { lua_close(state_); }
  Lua(const Lua&) = delete;
  Lua& operator=(const Lua&) = delete;

  std::string run(const redis::Script& script, Run& run, std::span<const std::string> keys,
                  std::span<const std::string> args) {
    run_ = &run;
    fill(2, keys);
    fill(3, args);
    push_compiled(script);
    const bool failed = lua_pcall(state_, 0, 1, 1) != 0;
    if (!run.mistake.empty() || (failed && !lua_istable(state_, -1))) {
      const std::string what =
          run.mistake.empty() ? std::string(text_at(state_, -1)) : std::move(run.mistake);
      lua_settop(state_, 3);
      throw std::logic_error(what);
    }
    if (!failed) {
      std::string reply;
      reply.reserve(120);
      take_reply(state_, reply);
      return reply;
    }
    lua_getfield(state_, -1, "line");
    const std::string line(text_at(state_, -1));
    lua_getfield(state_, -2, "err");
    std::string text(line_at(state_, -1));
    text += " script: " + std::string(script.sha1) + ", on @user_script:" + line + ".";
    lua_settop(state_, 3);
    return resp::error(text);
  }

 private:
  /// Adds a function to the table at the top of the stack.
  void add(const char* name, lua_CFunction function) {
    lua_pushlightuserdata(state_, &run_);
    lua_pushcclosure(state_, function, 1);
    lua_setfield(state_, -2, name);
  }

  /// Makes the table at this place of the stack an array of these texts.
  void fill(int table, std::span<const std::string> texts) {
    const auto before = static_cast<int>(lua_objlen(state_, table));
    const auto size = static_cast<int>(texts.size());
    for (int i = 1; i <= std::max(before, size); ++i) {
      if (i <= size) {
        const std::string& text = texts[static_cast<std::size_t>(i) - 1];
        lua_pushlstring(state_, text.data(), text.size());
      } else {
        lua_pushnil(state_);
      }
      lua_rawseti(state_, table, i);
    }
  }

  void push_compiled(const redis::Script& script) {
    if (mutant_ != core::planted_mutant) {
      for (const auto& [each, place] : compiled_) luaL_unref(state_, LUA_REGISTRYINDEX, place);
      compiled_.clear();
      mutant_ = core::planted_mutant;
    }
    auto found = compiled_.find(&script);
    if (found == compiled_.end()) {
      const std::string source = with_mistake(script, mutant_);
      if (luaL_loadbuffer(state_, source.data(), source.size(), "@user_script") != 0) {
        throw std::logic_error("a script is not Lua: " + std::string(text_at(state_, -1)));
      }
      found = compiled_.emplace(&script, luaL_ref(state_, LUA_REGISTRYINDEX)).first;
    }
    lua_rawgeti(state_, LUA_REGISTRYINDEX, found->second);
  }

  lua_State* state_;
  Run* run_ = nullptr;
  core::Mutant mutant_ = core::Mutant::none;      // the mutant in the compiled scripts
  std::map<const redis::Script*, int> compiled_;  // references in Lua's registry
};

}  // namespace

std::string run_script(const redis::Script& script, const Moment& moment,
                       std::span<const std::string> keys, std::span<const std::string> args,
                       Refusals refusals) {
  thread_local Lua lua;
  Run run{moment, refusals};
  return lua.run(script, run, keys, args);
}

}  // namespace quorumlock::sim
