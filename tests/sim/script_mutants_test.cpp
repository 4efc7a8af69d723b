#include "sim/script_mutants.hpp"

#include <gtest/gtest.h>

#include <lua.hpp>
#include <memory>

namespace quorumlock::sim {
namespace {

// If a script changes, its mistakes must follow; otherwise one of them is no longer planted.
TEST(ScriptMutants, EachFitsItsScriptAndIsStillLua) {
  const std::unique_ptr<lua_State, void (*)(lua_State*)> lua(luaL_newstate(), lua_close);
  for (const ScriptMistake& one : script_mistakes()) {
    SCOPED_TRACE(one.right);
    const std::string source = with_mistake(*one.script, one.mutant);
    EXPECT_NE(source, one.script->source);
    EXPECT_EQ(luaL_loadbuffer(lua.get(), source.data(), source.size(), "script"), 0)
        << lua_tostring(lua.get(), -1);
  }
}

}  // namespace
}  // namespace quorumlock::sim
