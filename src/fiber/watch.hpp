// A thread that checks whether fibers still move. If they don't, it reports once what they wait for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "fiber/worker.hpp"

namespace weft::fibers {

class watch {
 public:
  using clock = base::clock;

  /// The workers outlive it.
  watch(std::span<const std::unique_ptr<worker>> workers, std::chrono::milliseconds patience);
  ~watch();
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;

 private:
  // Since when a worker does what it does.
  struct sight {
    worker::look last;
    clock::time_point waits_since;  // it sleeps, or its fibers look for something again and again
    clock::time_point held_since;   // one fiber runs, and the thread sleeps
  };

  void run();
  void look(clock::time_point now);
  void report_wait() const;

  std::span<const std::unique_ptr<worker>> workers_;
  std::chrono::milliseconds patience_;
  std::vector<sight> sights_;
  bool has_told_of_wait_ = false;
  bool has_told_of_hold_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace weft::fibers
