# Included by ../CMakeLists.txt: real faults on real servers, and the tests of the code that makes and
# judges them.
find_package(CLI11 REQUIRED)

# Preloaded into redis-server, so it is built without the sanitizers and needs no library but libc.
add_library(chaos_clock MODULE ${CMAKE_CURRENT_LIST_DIR}/clock_interposer.cpp)
target_include_directories(chaos_clock PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(chaos_clock PRIVATE -Wall -Wextra -Wshadow -fvisibility=hidden
  -fno-exceptions -fno-rtti)
target_link_options(chaos_clock PRIVATE -nodefaultlibs)
target_link_libraries(chaos_clock PRIVATE c)

# Moves the clocks of the servers that preload it.
add_library(node_clock STATIC ${CMAKE_CURRENT_LIST_DIR}/node_clock.cpp)
target_include_directories(node_clock PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(node_clock PUBLIC quorumlock::quorumlock PRIVATE quorumlock_build_flags)
target_compile_definitions(node_clock PRIVATE
  QUORUMLOCK_CLOCK_INTERPOSER="$<TARGET_FILE:chaos_clock>")
add_dependencies(node_clock chaos_clock)
if(NOT QUORUMLOCK_BUILD_CHAOS)
  return()
endif()

file(GLOB chaos_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
list(FILTER chaos_sources EXCLUDE REGEX "(_test|/main|/pairs|/clock_interposer|/node_clock)\\.cpp$")
add_library(chaos_parts STATIC ${chaos_sources}
  ${PROJECT_SOURCE_DIR}/tools/flash_sale/interruption.cpp)
target_compile_definitions(chaos_parts PRIVATE QUORUMLOCK_PROGRAM="$<TARGET_FILE:quorumlock_cli>")
add_dependencies(chaos_parts quorumlock_cli)
target_link_libraries(chaos_parts PUBLIC test_support node_clock nlohmann_json::nlohmann_json Threads::Threads
  PRIVATE quorumlock_build_flags)

quorumlock_tests(chaos_tests chaos TIMEOUT 900 SOURCES chaos/*_test.cpp)
target_link_libraries(chaos_tests PRIVATE chaos_parts)

add_executable(chaos ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
target_link_libraries(chaos PRIVATE quorumlock_build_flags chaos_parts CLI11::CLI11)

# Clients with any two lists of nodes.
add_executable(pairs ${CMAKE_CURRENT_LIST_DIR}/pairs.cpp)
target_link_libraries(pairs PRIVATE quorumlock_build_flags test_support CLI11::CLI11)

# A short run as one of the tests. Each has a new seed, which it prints.
add_test(NAME chaos.run COMMAND chaos --seconds 10 --page chaos.html)
# A store that compares no tokens accepts stale writes, and the run has to report that. It ends
# with the first one.
add_test(NAME chaos.unfenced COMMAND chaos --seconds 60 --seed 1 --faults stop_worker --resources 1
  --alone --no-fencing-check --page chaos-unfenced.html)
set_tests_properties(chaos.unfenced PROPERTIES
  PASS_REGULAR_EXPRESSION "FAILED: [^\n]*the store accepts no stale write")
# The same with nodes that forget and have their records back at once: two workers then hold a lock at a time.
add_test(NAME chaos.unquarantined COMMAND chaos --seconds 60 --seed 1
  --faults forget_in_turn --alone --no-quarantine --page chaos-unquarantined.html)
set_tests_properties(chaos.unquarantined PROPERTIES
  PASS_REGULAR_EXPRESSION "FAILED: [^\n]*one holder at a time")
# A rolling redeployment, and clients with any two lists of nodes.
add_test(NAME chaos.redeploy COMMAND chaos --redeploy 1 --page chaos-redeploy.html)
set_tests_properties(chaos.redeploy PROPERTIES RUN_SERIAL ON)  # twenty workers are enough for two processors
add_test(NAME chaos.pairs COMMAND pairs --seconds 10)
# A longer run, for `ctest -C long`.
add_test(NAME chaos.long CONFIGURATIONS long COMMAND chaos --seconds 120 --page chaos-long.html)
# Each run has both processors, so that a worker is late only because of the faults.
set_tests_properties(chaos.run chaos.unfenced chaos.unquarantined chaos.redeploy chaos.pairs
  PROPERTIES LABELS chaos TIMEOUT 900 PROCESSORS 2)
set_tests_properties(chaos.long PROPERTIES LABELS chaos TIMEOUT 900 PROCESSORS 2)
