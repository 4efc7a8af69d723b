# Included by ../CMakeLists.txt: other clients of the algorithm, as their users install them, compete
# with ours for one key. They need node, npm and its registry; tools/test --all installs the first two.
quorumlock_tests(peer_tests peers TIMEOUT 900 SOURCES peers/*_test.cpp)
target_sources(peer_tests PRIVATE cli/program.cpp)
target_link_libraries(peer_tests PRIVATE test_support)
target_compile_definitions(peer_tests PRIVATE
  QUORUMLOCK_PEERS_SOURCES="${CMAKE_CURRENT_LIST_DIR}"
  QUORUMLOCK_PEERS_DIR="${CMAKE_CURRENT_BINARY_DIR}/peers")
