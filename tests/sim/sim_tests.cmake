# A Redis server of the simulation, held to real ones by a differential test.
add_library(sim_server STATIC
  sim/commands.cpp
  sim/data_commands.cpp
  sim/database.cpp
  sim/execution.cpp
  sim/introspection.cpp
  sim/requests.cpp
  sim/script_run.cpp
  sim/scripts.cpp
  sim/server.cpp)
target_include_directories(sim_server PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}
  $<TARGET_PROPERTY:quorumlock_objects,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(sim_server PRIVATE quorumlock_build_flags)

if(QUORUMLOCK_BUILD_TOOLS)
  quorumlock_tests(sim_tests sim TIMEOUT 300 SOURCES sim/*_test.cpp)
  target_sources(sim_tests PRIVATE sim/twins.cpp sim/words_maker.cpp)
  target_link_libraries(sim_tests PRIVATE sim_server test_support)
endif()

# The simulator. It has objects of its own of all that it runs: they can have mistakes planted in
# them, and are optimised whatever the build type.
add_executable(simulate
  ${PROJECT_SOURCE_DIR}/lib/client/repair.cpp
  ${PROJECT_SOURCE_DIR}/lib/client/session.cpp
  ${PROJECT_SOURCE_DIR}/lib/client/duration_text.cpp
  ${PROJECT_SOURCE_DIR}/lib/client/error.cpp
  ${PROJECT_SOURCE_DIR}/lib/client/outcome.cpp
  ${PROJECT_SOURCE_DIR}/lib/core/acquire.cpp
  ${PROJECT_SOURCE_DIR}/lib/core/engine.cpp
  ${PROJECT_SOURCE_DIR}/lib/core/hold.cpp
  ${PROJECT_SOURCE_DIR}/lib/core/release.cpp
  ${PROJECT_SOURCE_DIR}/lib/core/timer_queue.cpp
  ${PROJECT_SOURCE_DIR}/lib/core/types.cpp
  ${PROJECT_SOURCE_DIR}/lib/redis/command.cpp
  ${PROJECT_SOURCE_DIR}/lib/redis/endpoint.cpp
  ${PROJECT_SOURCE_DIR}/lib/redis/enrolment.cpp
  ${PROJECT_SOURCE_DIR}/lib/redis/link.cpp
  ${PROJECT_SOURCE_DIR}/lib/redis/link_greeting.cpp
  ${PROJECT_SOURCE_DIR}/lib/redis/reply.cpp
  sim/commands.cpp
  sim/data_commands.cpp
  sim/database.cpp
  sim/execution.cpp
  sim/introspection.cpp
  sim/requests.cpp
  sim/script_run.cpp
  sim/scripts.cpp
  sim/server.cpp
  sim/world/allocation.cpp
  sim/world/client.cpp
  sim/world/draw.cpp
  sim/world/faulty.cpp
  sim/world/main.cpp
  sim/world/mutants.cpp
  sim/world/network.cpp
  sim/world/users.cpp
  sim/world/world.cpp)
target_compile_definitions(simulate PRIVATE QUORUMLOCK_MUTANTS)
target_compile_options(simulate PRIVATE -O2)
target_include_directories(simulate PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}
  $<TARGET_PROPERTY:quorumlock_objects,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(simulate PRIVATE quorumlock_build_flags ${QUORUMLOCK_HIREDIS})
