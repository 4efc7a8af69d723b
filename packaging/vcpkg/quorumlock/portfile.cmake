# An overlay port: it builds the tree that it lies in, so nothing is downloaded and nothing is patched.
#
#     vcpkg install quorumlock --overlay-ports=QUORUMLOCK/packaging/vcpkg
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    testing QUORUMLOCK_TESTING
    tls     QUORUMLOCK_TLS
    tools   QUORUMLOCK_BUILD_TOOLS)
string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" SHARED)

vcpkg_find_acquire_program(PKGCONFIG)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DQUORUMLOCK_SHARED=${SHARED}
    -DQUORUMLOCK_INSTALL=ON
    -DQUORUMLOCK_HARDENING=OFF
    -DQUORUMLOCK_SERVE=OFF  # cpp-httplib comes without a .pc file there
    -DQUORUMLOCK_BUILD_TESTS=OFF
    -DQUORUMLOCK_BUILD_BENCH=OFF
    -DQUORUMLOCK_BUILD_CHAOS=OFF
    "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/quorumlock)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES quorumlock AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
