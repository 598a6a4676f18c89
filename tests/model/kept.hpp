// SPDX-License-Identifier: BSD-3-Clause
// Objects of an execution that ends in its middle: they stay as they are, and so does their memory.
#pragma once

#include <vector>

namespace weft::model {

/// The memory of what a failed execution leaves behind must not be given back in another one.
template <class Object>
struct kept_until_the_end {
  template <class... Arguments>
  explicit kept_until_the_end(Arguments... arguments) : object{new Object{arguments...}} {
    static std::vector<Object*>* abandoned = new std::vector<Object*>;
    all = abandoned;
    all->push_back(object);
  }
  ~kept_until_the_end() {
    all->pop_back();
    delete object;
  }
  kept_until_the_end(const kept_until_the_end&) = delete;
  kept_until_the_end& operator=(const kept_until_the_end&) = delete;
  Object* operator->() { return object; }

  Object* object;
  std::vector<Object*>* all;
};

}  // namespace weft::model
