# Included by CMakeLists.txt: the demo in a reduced size, and docker-compose.yml.
foreach(case sale interrupted-INT interrupted-TERM killed bad-nodes)
  add_test(NAME demo.${case}
    COMMAND overseen ${CMAKE_CURRENT_LIST_DIR}/demo_test.sh $<TARGET_FILE:flash_sale> ${case})
  set_tests_properties(demo.${case} PROPERTIES LABELS demo TIMEOUT 900)
endforeach()

add_test(NAME demo.compose COMMAND overseen ${CMAKE_CURRENT_LIST_DIR}/compose_test.py)
set_tests_properties(demo.compose PROPERTIES LABELS demo TIMEOUT 900)
