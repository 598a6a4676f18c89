// SPDX-License-Identifier: BSD-3-Clause
// The table by which a debugger lists fibers without debug information: tools/weft_gdb.py reads it.
#pragma once

namespace weft::fibers {

class worker;

/// Lists a worker as long as it lives. **Threads**: any.
class debugger_entry {
 public:
  explicit debugger_entry(worker& worker) noexcept;
  ~debugger_entry();
  debugger_entry(const debugger_entry&) = delete;
  debugger_entry& operator=(const debugger_entry&) = delete;

 private:
  worker* worker_;
  debugger_entry* next_;
};

}  // namespace weft::fibers
