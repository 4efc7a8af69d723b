#include <gtest/gtest.h>

#include "overseer/overseer.hpp"

int main(int argc, char** argv) {
  quorumlock::test::oversee();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
