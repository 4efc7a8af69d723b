# Included by ../CMakeLists.txt: real faults on real servers, and the tests of what makes and judges
# them.
find_package(CLI11 REQUIRED)

# Preloaded into redis-server: without the sanitizers, and without a library of its own.
add_library(chaos_clock MODULE ${CMAKE_CURRENT_LIST_DIR}/clock_interposer.cpp)
target_include_directories(chaos_clock PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(chaos_clock PRIVATE -Wall -Wextra -Wshadow -fvisibility=hidden
  -fno-exceptions -fno-rtti)
target_link_options(chaos_clock PRIVATE -nodefaultlibs)
target_link_libraries(chaos_clock PRIVATE c)

file(GLOB chaos_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp)
list(FILTER chaos_sources EXCLUDE REGEX "(_test|/main|/clock_interposer)\\.cpp$")
add_library(chaos_parts STATIC ${chaos_sources}
  ${PROJECT_SOURCE_DIR}/tools/flash_sale/interruption.cpp)
target_link_libraries(chaos_parts PUBLIC test_support nlohmann_json::nlohmann_json Threads::Threads
  PRIVATE quorumlock_build_flags)
target_compile_definitions(chaos_parts PRIVATE
  QUORUMLOCK_CLOCK_INTERPOSER="$<TARGET_FILE:chaos_clock>")
add_dependencies(chaos_parts chaos_clock)

quorumlock_tests(chaos_tests chaos TIMEOUT 120 SOURCES chaos/*_test.cpp)
target_link_libraries(chaos_tests PRIVATE chaos_parts)

add_executable(chaos ${CMAKE_CURRENT_LIST_DIR}/main.cpp)
target_link_libraries(chaos PRIVATE quorumlock_build_flags chaos_parts CLI11::CLI11)
