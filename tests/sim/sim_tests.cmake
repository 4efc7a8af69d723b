# The simulated Redis server, which a differential test compares with real ones. It runs the library's
# own scripts in LuaJIT, which is Lua 5.1 like that of Redis.
if(NOT LUAJIT_FOUND)
  message(FATAL_ERROR "The tests of the protocol run the scripts in LuaJIT, whose header and library "
    "are missing. Install libluajit-5.1-dev, or configure with -DQUORUMLOCK_BUILD_TESTS=OFF.")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/server_sources.cmake)
add_library(sim_server STATIC ${sim_server_sources})
target_include_directories(sim_server PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}
  $<TARGET_PROPERTY:quorumlock_objects,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(sim_server PUBLIC PkgConfig::LUAJIT PRIVATE quorumlock_build_flags)

if(QUORUMLOCK_BUILD_TOOLS)
  quorumlock_tests(sim_tests sim TIMEOUT 900 SOURCES sim/*_test.cpp)
  target_sources(sim_tests PRIVATE sim/twins.cpp sim/differential_table.cpp
    sim/differential_stories.cpp sim/world/records.cpp sim/world/referee.cpp
    sim/world/referee_clients.cpp sim/world/referee_lines.cpp sim/world/referee_records.cpp)
  target_compile_definitions(sim_tests PRIVATE QUORUMLOCK_PROOFS="${PROJECT_SOURCE_DIR}/proof")
  # The tests need the library's objects, too, since the words of a command are not public.
  target_link_libraries(sim_tests PRIVATE sim_server quorumlock_admin_objects quorumlock_objects ${QUORUMLOCK_HIREDIS}
    test_support node_clock)
endif()

# The simulator has objects of its own of all that it runs: mistakes can be planted in them, and they
# are optimised whatever the build type is.
list(TRANSFORM sim_server_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
set(simulated
  ../admin/members_change
  ../admin/settlement_wait
  api/error
  api/outcome
  api/timeline
  config/duration
  config/printable
  config/same_containers
  lock/acquisition
  lock/acquisitions
  lock/claims
  lock/cleanup
  lock/engine
  lock/exchange
  lock/leases
  wait/lines
  lock/nodes
  lock/owner_token
  wait/permits
  lock/placement
  lock/rival
  lock/round
  lock/statistics
  lock/timer_queue
  lock/trace
  lock/types
  loop/links
  members/members
  loop/messages
  loop/once_query
  members/repair
  loop/sender
  loop/session
  members/witnesses
  wire/attempts
  members/candidacy
  wire/client_name
  verbs/dispatch
  members/electorate
  wire/endpoint
  members/enrolment
  members/enrolment_record
  members/candidate_wait
  wire/greeting
  wire/link
  wire/login
  members/membership
  wire/orphan
  wire/pipeline
  wire/reply
  verbs/rights
  wire/subscriber
  members/timed_wait
  verbs/acquire
  verbs/call
  verbs/line
  verbs/once
  verbs/release
  verbs/renew
  verbs/vote
  wire/words
  wire/write_buffer)
list(TRANSFORM simulated PREPEND ${PROJECT_SOURCE_DIR}/lib/)
list(TRANSFORM simulated APPEND .cpp)
file(GLOB world_sources CONFIGURE_DEPENDS sim/world/*.cpp)
add_executable(simulate ${simulated} ${sim_server_sources} ${world_sources} overseer/overseer.cpp)
target_compile_definitions(simulate PRIVATE QUORUMLOCK_MUTANTS QUORUMLOCK_WITH_TLS=0)
target_compile_options(simulate PRIVATE -O2)
target_include_directories(simulate PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
  $<TARGET_PROPERTY:quorumlock_objects,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(simulate PRIVATE quorumlock_build_flags ${QUORUMLOCK_HIREDIS}
  PkgConfig::LUAJIT)

# Checks every promise under every fault, and that a broken promise would be noticed.
add_test(NAME sim.mutants COMMAND simulate --mutants CONFIGURATIONS long)
add_test(NAME sim.seeds COMMAND simulate --seeds 10000)
# A reader must not be extended by its token, since a writer may have held the lock in between. These
# draws find that within ten seeds if it is planted; a seed of one such history finds it no more once
# anything draws otherwise.
add_test(NAME sim.extended_reader COMMAND simulate --focus tokens --from 1 --seeds 1000)
set_tests_properties(sim.extended_reader PROPERTIES LABELS sim)
set_tests_properties(sim.mutants sim.seeds PROPERTIES LABELS sim TIMEOUT 900 PROCESSORS 2)
add_test(NAME sim.replay COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/replay_test.py
  $<TARGET_FILE:simulate>)
set_tests_properties(sim.replay PROPERTIES LABELS sim TIMEOUT 900)
