#include "base/not_inherited.hpp"

#include <pthread.h>

#include <mutex>

namespace weft::base {

// All such objects of the process. A fork waits until none is being added or removed.
class inheritance {
 public:
  static inheritance& of_this_process() {
    static inheritance& instance = *new inheritance;  // never destroyed: children are made until the end
    return instance;
  }

  void add(not_inherited& one) noexcept {
    const std::scoped_lock lock{mutex_};
    one.behind_ = first_;
    if (first_ != nullptr) first_->before_ = &one;
    first_ = &one;
  }
  void remove(not_inherited& one) noexcept {
    const std::scoped_lock lock{mutex_};
    (one.before_ != nullptr ? one.before_->behind_ : first_) = one.behind_;
    if (one.behind_ != nullptr) one.behind_->before_ = one.before_;
  }

 private:
  inheritance() {
    pthread_atfork([] { of_this_process().mutex_.lock(); }, [] { of_this_process().mutex_.unlock(); },
                   [] {
                     of_this_process().tell_all();
                     of_this_process().mutex_.unlock();
                   });
  }
  void tell_all() const noexcept {
    for (not_inherited* each = first_; each != nullptr; each = each->behind_) each->become_copy();
  }

  std::mutex mutex_;
  not_inherited* first_ = nullptr;
};

not_inherited::not_inherited() { inheritance::of_this_process().add(*this); }
not_inherited::~not_inherited() { inheritance::of_this_process().remove(*this); }

}  // namespace weft::base
