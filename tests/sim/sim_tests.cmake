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
