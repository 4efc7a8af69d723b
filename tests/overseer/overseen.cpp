// overseen COMMAND...: runs a command, and ends everything that it has started when it ends or is
// killed.

#include <unistd.h>

#include <cstdio>

#include "overseer/overseer.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: overseen COMMAND [ARGUMENT...]\n", stderr);
    return 64;
  }
  quorumlock::test::oversee();
  ::execvp(argv[1], argv + 1);
  std::perror(argv[1]);
  return 127;
}
