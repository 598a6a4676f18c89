// Measurements in which all ranks take part together: repeated twice as often each time, until they take long enough.
#include <chrono>
#include <memory>

#include "weft-perf/measure/bench.hpp"
#include "weft/collectives.hpp"
#include "weft/group.hpp"

namespace weft::perf {
namespace {

using clock = std::chrono::steady_clock;

// A message that each rank passes on to the next one. Threads wait as a program without tricks does.
class ring {
 public:
  ring(team& all, const point& measured)
      : size_{all.runtime().size()},
        measured_{measured},
        lane_{std::make_unique<lane>(all.runtime().default_device(),
                                     lane_options{.partner = (all.runtime().rank() + 1) % size_,
                                                  .id = all.new_ids(1),
                                                  .source = (all.runtime().rank() + size_ - 1) % size_,
                                                  .begins = all.runtime().rank() == 0,
                                                  .uses_defaults = true})},
        bytes_(measured.bytes) {}

  void go_round() {
    if (lane_->begins) send();
    receive();
    if (!lane_->begins) send();
  }

 private:
  void send() {
    lane_->settle();
    if (measured_.operation == operation::am) return lane_->post_am(std::span<const std::byte>{bytes_}, 0);
    lane_->post_send(std::span<const std::byte>{bytes_});
  }
  // The buffer is sent on when the last message of this rank has left it.
  void receive() {
    if (measured_.operation == operation::am) return lane_->wait_arrived();
    lane_->settle();
    lane_->post_recv(std::span<std::byte>{bytes_});
    lane_->wait_received();
  }

  std::uint32_t size_;
  const point& measured_;
  std::unique_ptr<lane> lane_;
  std::vector<std::byte> bytes_;
};

// The time of one of them in ns. Rank 0 finds out how often they take `seconds`.
template <class Once>
double time_each(group& all, double seconds, Once&& once) {
  for (std::uint64_t count = 1;; count *= 2) {
    collective::barrier().run(all);
    const auto begin = clock::now();
    for (std::uint64_t i = 0; i < count; ++i) once(i);
    double took = std::chrono::duration<double>(clock::now() - begin).count();
    collective::broadcast({&took, sizeof took}).run(all);
    if (took >= seconds) return took * 1e9 / static_cast<double>(count);
  }
}

}  // namespace

sample run_together(team& all, const point& measured) {
  // Ranks that wait for two others that share cores with them are in the way: then only the caller can tell.
  const bool can_tell = all.runtime().size() == 2;
  sample out;
  if (can_tell) out.before_ns = all.handover();
  group everybody = all.runtime().world();
  ring messages{all, measured};
  out.value = time_each(everybody, measured.seconds, [&](std::uint64_t) { messages.go_round(); }) /
              static_cast<double>(all.runtime().size());
  if (can_tell) out.after_ns = all.handover();
  return out;
}

}  // namespace weft::perf
