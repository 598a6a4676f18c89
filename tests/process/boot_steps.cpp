// SPDX-License-Identifier: BSD-3-Clause
// Takes the steps that its arguments name, in their order, to see what a launcher makes of them:
// init, fence, ready (a line that says so), exit=N (as main does), quit=N (at once, without taking leave), crash, stay.
// by script
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "boot/bootstrap.hpp"

int main(int argc, char** argv) {
  try {
    std::shared_ptr<weft::boot::bootstrap> boot;
    for (int i = 1; i < argc; ++i) {
      const std::string step = argv[i];
      if (step == "init")
        boot = weft::boot::process_bootstrap();
      else if (step == "fence")
        boot->fence();
      else if (step == "ready")
        static_cast<void>(std::puts("ready") + std::fflush(stdout));
      else if (step.starts_with("exit="))
        return std::stoi(step.substr(5));
      else if (step.starts_with("quit="))
        ::_exit(std::stoi(step.substr(5)));
      else if (step == "crash")
        ::raise(SIGKILL);
      else if (step == "stay")
        for (;;) ::pause();
      else
        return 99;
    }
    if (boot) std::printf("rank %u of %u by %s\n", boot->rank(), boot->size(), boot->name());
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "boot_steps: %s\n", problem.what());
    return 1;
  }
}
