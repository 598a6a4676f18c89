#include "base/misuse.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "base/last_error.hpp"
#include "base/log.hpp"

namespace weft::base {

void misuse(const char* description) noexcept {
  // What is wrong now may be the consequence: scopes are left with operations under way.
  if (const char* const text = uncaught_error(); text != nullptr) {
    log_error("an exception is leaving the scope; this thread's last error of Weft's: {}",
              *text != '\0' ? text : "none, so it is another's: catch it where operations are under way");
  }
  log_error("wrong use: {}", description);
  std::abort();
}

void refuse_to_child(const char* object) noexcept {
  misuse(
      fmt::format("a child of fork() uses {} of its parent, which has it still: make what communicates after fork(), "
                  "or let the child call exec",
                  object)
          .c_str());
}

}  // namespace weft::base
