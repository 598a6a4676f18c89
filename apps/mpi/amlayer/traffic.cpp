// SPDX-License-Identifier: BSD-3-Clause
#include "traffic.hpp"

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "lane.hpp"
#include "layer.hpp"

namespace mpi_amlayer {

namespace {

enum class handler : std::uint32_t { data, acknowledgement };

constexpr int first_data_tag = threads_max;  // smaller ones are those of headers

// How many messages a thread may have to send at a time.
int slots_of(const traffic_options& options) noexcept {
  return options.traffic == traffic_kind::flood ? static_cast<int>(options.window) : 2;
}

int ask(int (*function)(MPI_Comm, int*)) {
  int out = 0;
  function(MPI_COMM_WORLD, &out);
  return out;
}

// The value of a key in the info of a communicator; empty: it has none.
std::string hint_of(MPI_Comm comm, const char* key) {
  MPI_Info used = MPI_INFO_NULL;
  MPI_Comm_get_info(comm, &used);
  std::array<char, 64> text{};
  int is_there = 0;
#if MPI_VERSION >= 4
  int bytes = text.size();
  MPI_Info_get_string(used, key, &bytes, text.data(), &is_there);
#else
  MPI_Info_get(used, key, static_cast<int>(text.size()) - 1, text.data(), &is_there);
#endif
  MPI_Info_free(&used);
  return is_there != 0 ? std::string{text.data()} : std::string{};
}

class traffic final : public message_target {
 public:
  explicit traffic(const traffic_options& options)
      : options_{options},
        rank_{ask(MPI_Comm_rank)},
        partner_{rank_ ^ 1},
        lanes_(static_cast<std::size_t>(options.threads)) {
    make_communicators();
    for (int number = 0; number < options.threads; ++number) make_lane(number);
    const int devices = options.form == layer_form::one ? 1 : options.threads;
    for (int number = 0; number < devices; ++number) {
      const bool is_by_tag = options.form == layer_form::tag;
      MPI_Comm comm = communicators_[options.form == layer_form::vci ? static_cast<std::size_t>(number) : 0];
      devices_.push_back(std::make_unique<device>(comm, is_by_tag ? number : 0, is_by_tag, options.completion, *this));
    }
  }
  ~traffic() override {
    devices_.clear();
    for (MPI_Comm& each : communicators_) MPI_Comm_free(&each);
  }
  traffic(const traffic&) = delete;
  traffic& operator=(const traffic&) = delete;

  traffic_result run() {
    traffic_result out;
    const std::uint64_t warm_up = options_.messages / 10 + 1, end = warm_up + options_.messages;
    std::barrier phases{options_.threads + 1};
    std::vector<std::jthread> threads;
    for (int number = 0; number < options_.threads; ++number) {
      threads.emplace_back([this, &phases, number, warm_up, end] {
        exchange(number, 0, warm_up);
        phases.arrive_and_wait();
        phases.arrive_and_wait();
        exchange(number, warm_up, end);
        phases.arrive_and_wait();
      });
    }
    phases.arrive_and_wait();
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    phases.arrive_and_wait();
    phases.arrive_and_wait();
    const double seconds = MPI_Wtime() - begin;
    threads.clear();
    const std::uint64_t wrong = count_wrong(end);
    MPI_Allreduce(&seconds, &out.seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&wrong, &out.wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    describe_communicators(out);
    return out;
  }

  void take(const header& message, int source, std::span<const std::byte> payload) noexcept override {
    lane& own = lanes_[message.lane];
    if (handler{message.handler} == handler::acknowledgement) return own.acknowledge(message.number);
    own.count(message.number, payload, source == partner_);
  }

 private:
  void make_communicators() {
    const int count = options_.form == layer_form::vci ? options_.threads : 1;
    for (int number = 0; number < count; ++number) {
      MPI_Info hints = MPI_INFO_NULL;
      MPI_Info_create(&hints);
      if (options_.form == layer_form::vci) {
        const std::string vci = std::to_string(number % (options_.vcis != 0 ? options_.vcis : options_.threads));
        MPI_Info_set(hints, "weft_vci", vci.c_str());
        if (options_.vcis != 0) MPI_Info_set(hints, "vci", vci.c_str());  // MPICH's
      } else if (options_.form == layer_form::tag) {
        MPI_Info_set(hints, "mpi_assert_allow_overtaking", "true");
        MPI_Info_set(hints, "weft_assert_any_source_by_tag", "true");
      }
      MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, &communicators_.emplace_back(MPI_COMM_NULL));
      MPI_Info_free(&hints);
    }
  }

  void make_lane(int number) {
    const int slots = slots_of(options_);
    const int first_tag = first_data_tag + (rank_ * options_.threads + number) * slots;
    lane_of(number).prepare(rank_, partner_, number, options_.bytes, first_tag, static_cast<std::size_t>(slots));
  }

  lane& lane_of(int number) { return lanes_[static_cast<std::size_t>(number)]; }
  device& device_of(int number) {
    return *devices_[options_.form == layer_form::one ? 0 : static_cast<std::size_t>(number)];
  }

  // Calls background_work until the condition is true.
  template <class Condition>
  void progress_until(int number, Condition&& condition) {
    device& used = device_of(number);
    for (int idle = 0; !condition();) {
      if (used.background_work()) {
        idle = 0;
      } else if (++idle >= options_.yield_after) {
        std::this_thread::yield();
        idle = 0;
      }
    }
  }

  void send(int number, handler kind, std::uint64_t value) {
    outgoing_message& message = lane_of(number).next_outgoing();
    progress_until(number, [&] { return message.is_free(); });
    const bool is_data = kind == handler::data;
    if (is_data) std::memcpy(message.payload(), &value, sizeof value);
    device_of(number).send(message,
                           {.number = value,
                            .handler = static_cast<std::uint32_t>(kind),
                            .lane = static_cast<std::uint32_t>(number),
                            .bytes = is_data ? options_.bytes : 0,
                            .data_tag = 0},
                           partner_);
  }

  void receive_until(int number, std::uint64_t count) {
    progress_until(number, [&] { return lane_of(number).received() >= count; });
  }

  // A thread's part of messages `first` to `end`; all that it has sent is sent when it returns.
  void exchange(int number, std::uint64_t first, std::uint64_t end) {
    lane& own = lane_of(number);
    const bool is_sender = rank_ % 2 == 0;
    if (options_.traffic == traffic_kind::ping_pong) {
      for (std::uint64_t message = first; message < end; ++message) {
        if (is_sender) send(number, handler::data, message);
        receive_until(number, message + 1);
        if (!is_sender) send(number, handler::data, message);
      }
    } else if (is_sender) {
      flood(number, own, first, end);
    } else {
      take_flood(number, own, end);
    }
    progress_until(number, [&] { return own.is_all_sent(); });
  }

  void flood(int number, lane& own, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t message = first; message < end; ++message) {
      progress_until(number, [&] { return message < own.acknowledged() + options_.window; });
      send(number, handler::data, message);
    }
    progress_until(number, [&] { return own.acknowledged() == end; });
  }

  void take_flood(int number, lane& own, std::uint64_t end) {
    while (own.answered < end) {
      const std::uint64_t due = std::min<std::uint64_t>(own.answered + options_.window / 2, end);
      receive_until(number, due);
      const std::uint64_t now = std::min(own.received(), end);
      send(number, handler::acknowledgement, now - own.answered);
      own.answered = now;
    }
  }

  // The messages that this rank has not received, each once, as they were sent.
  std::uint64_t count_wrong(std::uint64_t end) const noexcept {
    const bool is_receiver = options_.traffic == traffic_kind::ping_pong || rank_ % 2 == 1;
    std::uint64_t out = 0;
    for (const lane& each : lanes_) out += each.count_wrong(is_receiver ? end : 0);
    return out;
  }

  void describe_communicators(traffic_result& out) {
    if (options_.form == layer_form::tag)
      out.is_by_tag = hint_of(communicators_[0], "weft_assert_any_source_by_tag") == "true";
    if (options_.form != layer_form::vci) return;
    std::set<std::string> named;
    for (MPI_Comm each : communicators_) named.insert(hint_of(each, "weft_vci"));
    named.erase("");
    out.vcis = static_cast<int>(named.size());
  }

  const traffic_options options_;
  const int rank_;
  const int partner_;
  std::vector<lane> lanes_;
  std::vector<MPI_Comm> communicators_;
  std::vector<std::unique_ptr<device>> devices_;
};

}  // namespace

std::int64_t largest_tag(const traffic_options& options, int ranks) noexcept {
  return first_data_tag + std::int64_t{ranks} * options.threads * slots_of(options) - 1;
}

traffic_result run_traffic(const traffic_options& options) { return traffic{options}.run(); }

}  // namespace mpi_amlayer
