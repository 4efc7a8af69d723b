# A Redis server of the simulation, held to real ones by a differential test. It runs the library's
# own scripts in LuaJIT, which is Lua 5.1 as Redis has it.
pkg_check_modules(LUAJIT IMPORTED_TARGET luajit)
if(NOT LUAJIT_FOUND)
  message(FATAL_ERROR "LuaJIT's header and library are not there, which the tests of the protocol "
    "run the scripts with. Install libluajit-5.1-dev, or configure with "
    "-DQUORUMLOCK_BUILD_TESTS=OFF.")
endif()
set(sim_server_sources
  sim/commands.cpp
  sim/data_commands.cpp
  sim/database.cpp
  sim/execution.cpp
  sim/introspection.cpp
  sim/requests.cpp
  sim/script_mutants.cpp
  sim/script_run.cpp
  sim/scripts.cpp
  sim/server.cpp)
add_library(sim_server STATIC ${sim_server_sources})
target_include_directories(sim_server PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}
  $<TARGET_PROPERTY:quorumlock_objects,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(sim_server PUBLIC PkgConfig::LUAJIT PRIVATE quorumlock_build_flags)

if(QUORUMLOCK_BUILD_TOOLS)
  quorumlock_tests(sim_tests sim TIMEOUT 300 SOURCES sim/*_test.cpp)
  target_sources(sim_tests PRIVATE sim/twins.cpp sim/words_maker.cpp)
  # The library's objects, too: the words of a command are not public.
  target_link_libraries(sim_tests PRIVATE sim_server quorumlock_objects ${QUORUMLOCK_HIREDIS}
    test_support)
endif()

# The simulator. All that it runs it has as objects of its own: they can have mistakes planted in
# them, and are optimised whatever the build type.
list(TRANSFORM sim_server_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
set(simulated config/duration api/error loop/notes api/outcome loop/repair loop/session loop/session_send
  core/acquire core/admit core/claims core/clocks core/engine core/hold core/permit core/queue core/release core/stats
  core/timer_queue core/types core/watch redis/dispatch redis/endpoint
  redis/enrolment redis/enrolment_record redis/enrolment_trust redis/link redis/link_greeting redis/reply redis/subscriber
  redis/verbs/acquire redis/verbs/call redis/verbs/line redis/verbs/raise redis/verbs/release redis/verbs/renew
  redis/verbs/vote redis/words)
list(TRANSFORM simulated PREPEND ${PROJECT_SOURCE_DIR}/lib/)
list(TRANSFORM simulated APPEND .cpp)
file(GLOB world_sources CONFIGURE_DEPENDS sim/world/*.cpp)
add_executable(simulate ${simulated} ${sim_server_sources} ${world_sources})
target_compile_definitions(simulate PRIVATE QUORUMLOCK_MUTANTS)
target_compile_options(simulate PRIVATE -O2)
target_include_directories(simulate PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
  $<TARGET_PROPERTY:quorumlock_objects,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(simulate PRIVATE quorumlock_build_flags ${QUORUMLOCK_HIREDIS}
  PkgConfig::LUAJIT)

# Every promise under every fault; and that it would be noticed if one were broken.
add_test(NAME sim.mutants COMMAND simulate --mutants CONFIGURATIONS long)
add_test(NAME sim.seeds COMMAND simulate --seeds 10000)
set_tests_properties(sim.mutants sim.seeds PROPERTIES LABELS sim TIMEOUT 600 PROCESSORS 2)
add_test(NAME sim.replay COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/replay_test.py
  $<TARGET_FILE:simulate>)
set_tests_properties(sim.replay PROPERTIES LABELS sim TIMEOUT 300)
