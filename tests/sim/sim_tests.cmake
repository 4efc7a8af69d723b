# A Redis server of the simulation, held to real ones by a differential test.
set(sim_server_sources
  sim/commands.cpp
  sim/data_commands.cpp
  sim/database.cpp
  sim/execution.cpp
  sim/introspection.cpp
  sim/line_scripts.cpp
  sim/permit_scripts.cpp
  sim/requests.cpp
  sim/script_run.cpp
  sim/script_tools.cpp
  sim/scripts.cpp
  sim/scripts_all.cpp
  sim/server.cpp
  sim/shared_scripts.cpp)
add_library(sim_server STATIC ${sim_server_sources})
target_include_directories(sim_server PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}
  $<TARGET_PROPERTY:quorumlock_objects,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(sim_server PRIVATE quorumlock_build_flags)

if(QUORUMLOCK_BUILD_TOOLS)
  quorumlock_tests(sim_tests sim TIMEOUT 300 SOURCES sim/*_test.cpp)
  target_sources(sim_tests PRIVATE sim/twins.cpp sim/words_maker.cpp)
  target_link_libraries(sim_tests PRIVATE sim_server test_support)
endif()

# The simulator. All that it runs it has as objects of its own: they can have mistakes planted in
# them, and are optimised whatever the build type.
list(TRANSFORM sim_server_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
set(simulated client/duration_text client/error client/outcome client/repair client/session client/session_send
  core/acquire core/claims core/engine core/hold core/permit core/queue core/release core/stats
  core/timer_queue core/types core/watch redis/command redis/command_all redis/command_permit redis/endpoint
  redis/batch redis/enrolment redis/link redis/link_greeting redis/native_acquire redis/reply redis/subscriber)
list(TRANSFORM simulated PREPEND ${PROJECT_SOURCE_DIR}/lib/)
list(TRANSFORM simulated APPEND .cpp)
file(GLOB world_sources CONFIGURE_DEPENDS sim/world/*.cpp)
add_executable(simulate ${simulated} ${sim_server_sources} ${world_sources})
target_compile_definitions(simulate PRIVATE QUORUMLOCK_MUTANTS)
target_compile_options(simulate PRIVATE -O2)
target_include_directories(simulate PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
  $<TARGET_PROPERTY:quorumlock_objects,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(simulate PRIVATE quorumlock_build_flags ${QUORUMLOCK_HIREDIS})

# Every promise under every fault; and that it would be noticed if one were broken.
add_test(NAME sim.mutants COMMAND simulate --mutants CONFIGURATIONS long)
add_test(NAME sim.seeds COMMAND simulate --seeds 10000)
set_tests_properties(sim.mutants sim.seeds PROPERTIES LABELS sim TIMEOUT 600 PROCESSORS 2)
add_test(NAME sim.replay COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/replay_test.py
  $<TARGET_FILE:simulate>)
set_tests_properties(sim.replay PROPERTIES LABELS sim TIMEOUT 300)
