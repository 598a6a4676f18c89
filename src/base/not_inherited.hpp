// Objects of which a child of fork() has a copy, and which belong to its parent: the child must neither use them nor
// keep them open.
#pragma once

namespace weft::base {

/// An object that is told in each child of fork() that it is a copy now: files whose locks tell the living from the
/// dead are closed there, and what lies in shared memory is left alone when the copy is destroyed. Of children that are
/// made without fork(), by clone() or vfork(), nothing is told. **Threads**: any, each object as its owner says.
class not_inherited {
 public:
  not_inherited(const not_inherited&) = delete;
  not_inherited& operator=(const not_inherited&) = delete;

 protected:
  not_inherited();
  ~not_inherited();

  /// In the child, which has one thread, before fork() returns there: no more than a signal handler may do.
  virtual void become_copy() noexcept = 0;

 private:
  friend class inheritance;
  not_inherited* before_ = nullptr;
  not_inherited* behind_ = nullptr;
};

/// Whether this is the copy in a child.
class copy_mark final : private not_inherited {
 public:
  copy_mark() = default;
  /// No synchronization: it changes when the only thread of a process begins.
  [[nodiscard]] bool is_copy() const noexcept { return is_copy_; }

 private:
  void become_copy() noexcept override { is_copy_ = true; }
  bool is_copy_ = false;
};

}  // namespace weft::base
