// SPDX-License-Identifier: BSD-3-Clause
// Groups of ranks, in which collectives run (collectives.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "weft/error.hpp"

namespace weft {

class device;
class runtime;
namespace coll {
class group_state;
}

// Both compilers warn of deprecated fields also where they make a constructor of the struct.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Options of functions that make groups.
struct group_options {
  /// The device through which this member's collectives run, a shared one, unless the runtime's default device is one
  /// thread's own. Null: the device of the group that the new one is made from, or the default device.
  weft::device* device = nullptr;
  /// The old name of `device`.
  [[deprecated("use device")]] weft::device* through = nullptr;
  /// A name on which the new group's members have agreed before, below `group_names_max`: the group is made without a
  /// message for that, so that `dup`, `include` and `make_group` send none. All members give it, or none. No group of
  /// that name may be left at any member, with its collectives. Such names have nothing to do with the library's.
  std::optional<std::uint32_t> name = std::nullopt;
};

#pragma GCC diagnostic pop

/// Names that `group_options` gives are below this.
inline constexpr std::uint32_t group_names_max = 1U << 31;

/// Some ranks of a job, numbered from 0 on. Copies name one group; it ends with the last of them, at each member by
/// itself: no rank waits for another one then.
///
/// One thread at a time starts collectives in a group, and each member starts the same ones in one order. Several may
/// be under way. Threads that start collectives at the same time use a group each (`dup`), on a device each if they are
/// not to share one.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any. **Errors**: none. The runtime, and
/// the group's device, must outlive it.
class group {
 public:
  /// No group: may only be assigned to, copied, asked by `is_valid`, and destroyed. Collectives, and functions that
  /// make groups of it, throw `invalid_argument`; the others end the process with a message.
  group() noexcept = default;

  /// Whether it names a group.
  [[nodiscard]] bool is_valid() const noexcept { return state_ != nullptr; }
  /// The old name of `is_valid`.
  [[deprecated("use is_valid()")]] [[nodiscard]] bool is_one() const noexcept { return is_valid(); }
  /// The number of members.
  [[nodiscard]] std::uint32_t size() const noexcept;
  /// This rank's number in the group.
  [[nodiscard]] std::uint32_t rank() const noexcept;
  /// The rank in the job of member `member`. **Errors**: `invalid_argument` for a member that there is not.
  [[nodiscard]] std::uint32_t world_rank(std::uint32_t member) const;
  /// The number in the group of rank `rank` of the job; nothing if it is no member.
  [[nodiscard]] std::optional<std::uint32_t> member(std::uint32_t rank) const noexcept;
  /// The device through which its collectives run.
  [[nodiscard]] weft::device& device() const noexcept;
  /// The old name of `device`.
  [[deprecated("use device()")]] [[nodiscard]] weft::device& through() const noexcept { return device(); }

  /// Ends this member's collectives that were posted and are not complete, as the end of a graph does
  /// (`graph::abandon`): their completion objects are signalled, with the error `cancelled`. Other members may wait for
  /// ever. Collectives that are kept (`collective::keep`) run on.
  ///
  /// **Blocking**: until operations are complete that can't be cancelled, which may need a peer's progress; makes
  /// progress on the group's device. **Threads**: as for starting a collective; not in a handler, a hook or a node of a
  /// graph.
  void abandon() noexcept;

  /// Groups of the members that name one colour, each ordered by key, and by rank where keys are equal. No colour: this
  /// member is in none of them, and gets no group. Collective over this group: two allgathers.
  ///
  /// **Blocking**: until all members have called it. **Threads**: as for starting a collective. **Errors**: those of a
  /// blocking collective; `invalid_argument` for a name that is too large, or that a living group of this rank has;
  /// `std::bad_alloc`.
  [[nodiscard]] group split(std::optional<std::uint32_t> colour, std::int64_t key = 0,
                            const group_options& options = {});
  /// A group of these members once more, for another thread. Collective over this group: one broadcast; none if
  /// options give a name, and then it does not block. **Blocking**, **Threads** and **Errors**: as for `split`.
  [[nodiscard]] group dup(const group_options& options = {});
  /// A group for each node (`runtime::node_of`). Collective over this group: one allgather. **Blocking**, **Threads**
  /// and
  /// **Errors**: as for `split`.
  [[nodiscard]] group by_node(const group_options& options = {});
  /// A group of these members, in this order. They alone call this, with one list. `tag` tells apart groups that
  /// several threads of a rank make at the same time. **Blocking** and **Errors**: those of `make_group`. **Threads**:
  /// any, each with a tag of its own.
  [[nodiscard]] group include(std::span<const std::uint32_t> members, std::uint32_t tag = 0,
                              const group_options& options = {}) const;
  template <class WriteSpanOfRanksTagAndMembersInOrderOf = group_options>
  group include(...) const = delete;  // arguments that do not fit

 private:
  friend class runtime;
  friend class collective;
  friend class persistent_collective;
  friend group make_group(weft::runtime& rt, std::span<const std::uint32_t> ranks, std::uint32_t tag,
                          const group_options& options);
  explicit group(std::shared_ptr<coll::group_state> state) noexcept : state_{std::move(state)} {}

  std::shared_ptr<coll::group_state> state_;
};

/// Tags of `make_group` are below this.
inline constexpr std::uint32_t group_tags_max = (1U << 20) - 1;

/// A group of these ranks of the job, in this order. Its members alone call this, with one list. `tag` tells apart
/// groups that several threads of a rank make at the same time. One broadcast and one barrier among the members; none
/// if options give a name.
///
/// **Blocking**: until all of them have called it; not if options give a name. **Threads**: any, each with a tag of its
/// own. **Errors**: `invalid_argument` for ranks that there are not, that are named twice, or that are without this
/// one, for a tag that is too large, and for names as `split`; those of a blocking collective; `std::bad_alloc`.
[[nodiscard]] group make_group(weft::runtime& rt, std::span<const std::uint32_t> ranks, std::uint32_t tag = 0,
                               const group_options& options = {});
template <class WriteRuntimeSpanOfRanksTagAndMembersInOrderOf = group_options>
group make_group(...) = delete;  // arguments that do not fit

}  // namespace weft
