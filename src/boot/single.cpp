// SPDX-License-Identifier: BSD-3-Clause
// Alone. Values still become visible only by a fence, so that a program tried alone behaves as it will in company.
#include <map>
#include <mutex>

#include "boot/backends.hpp"

namespace weft::boot {
namespace {

class single final : public bootstrap {
 public:
  std::uint32_t rank() const noexcept override { return 0; }
  std::uint32_t size() const noexcept override { return 1; }
  const char* name() const noexcept override { return "single"; }

  void put(std::string_view key, std::string_view bytes) override {
    check_value(key, bytes);
    const std::lock_guard lock{mutex_};
    if (published_.find(key) != published_.end() || !staged_.emplace(key, bytes).second) throw_put_twice(*this, key);
  }

  std::string get(std::uint32_t rank, std::string_view key) override {
    check_rank(rank, 1);
    check_key(key);
    const std::lock_guard lock{mutex_};
    const auto found = published_.find(key);
    if (found == published_.end()) throw_no_value(*this, rank, key);
    return found->second;
  }

  void fence() override {
    const std::lock_guard lock{mutex_};
    published_.merge(staged_);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> staged_;
  std::map<std::string, std::string, std::less<>> published_;
};

}  // namespace

std::shared_ptr<bootstrap> make_single() { return std::make_shared<single>(); }

}  // namespace weft::boot
