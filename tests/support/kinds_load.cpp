// SPDX-License-Identifier: BSD-3-Clause
#include "support/kinds_load.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "support/stored_message.hpp"
#include "support/waiting.hpp"

namespace weft::test {
namespace {

constexpr std::size_t long_bytes = (std::size_t{1} << 20) + 1;
constexpr std::uint32_t inbox_id = 1, guarded_inbox_id = 2, signals_id = 3, tokens_id = 4;

// Gives guarded memory to long active messages, one part behind the other until all are back. The rank has one thread.
class guarded_allocator final : public buffer_allocator {
 public:
  guarded_allocator(runtime& rt, std::size_t bytes, const guarded_memory_options& options)
      : pages{rt, bytes, options} {}
  void* allocate(std::size_t bytes, std::uint32_t, std::uint64_t) noexcept override {
    if (bytes > pages.bytes() - given_) return nullptr;
    return pages.address() + std::exchange(given_, given_ + bytes);
  }
  void deallocate(void* /*memory*/, std::size_t bytes) noexcept override { back_ += bytes; }
  [[nodiscard]] const weft::memory* memory() const noexcept override { return &pages.memory(); }

  /// Answers whether all that it gave is back, and begins again.
  [[nodiscard]] bool has_all_back() noexcept { return std::exchange(given_, 0) == std::exchange(back_, 0); }

  guarded_memory pages;

 private:
  std::size_t given_ = 0;
  std::size_t back_ = 0;
};

// Sends and receives.
struct exchange {
  const char* name;
  std::uint32_t engine;
  bool is_early;  // receives are posted before the messages are sent
  bool is_probed;
  completion_level level;
};

// Of the messages of one cell, one of each size.
struct batch {
  std::deque<stored_message> out, in;
};

class kinds_rank {
 public:
  kinds_rank(runtime& rt, const kinds_load& load, const std::function<void(const std::string&)>& fail)
      : rt_{rt},
        dev_{rt.default_device()},
        load_{load},
        fail_{fail},
        peer_{rt.size() - 1 - rt.rank()},
        packet_bytes_{rt.attributes().packet_bytes},
        kinds_{rt, 2 * (long_bytes + 5 * packet_bytes_ + 8192), {load.knows_addresses}},
        allocator_{rt, 2 * long_bytes, {load.knows_addresses}},
        ordered_{rt, {.id = 1, .ordered = true}},
        first_{rt, {.id = 2, .receiver_first = true}},
        own_(2 * long_bytes),
        regions_{memory_region{rt, 2 * long_bytes}, memory_region{rt, std::span{own_}}},
        done_{rt},
        inbox_{rt},
        signals_{rt},
        tokens_{rt},
        registrations_{rt.register_completion(inbox_, {.id = inbox_id}),
                       rt.register_completion(inbox_, {.id = guarded_inbox_id, .allocator = &allocator_}),
                       rt.register_completion(signals_, {.id = signals_id}),
                       rt.register_completion(tokens_, {.id = tokens_id})} {
    for (const memory_region& mine : regions_) {
      counter sent{rt};
      static_cast<void>(post_until_taken(dev_, peer_, {tokens_id}, std::span{&mine.handle(), 1}, sent));
      const auto theirs = next(tokens_);
      if (theirs)
        std::memcpy(&there_[static_cast<std::size_t>(&mine - regions_.data())], theirs->data().data(),
                    sizeof there_[0]);
      rt.barrier();
    }
  }

  void run() {
    constexpr auto local = completion_level::local, delivered = completion_level::delivered;
    for (const completion_level level : {local, delivered}) {
      for (const exchange& how : {exchange{"expected", default_matching_engine, true, false, level},
                                  exchange{"unexpected", default_matching_engine, false, false, level},
                                  exchange{"probed", default_matching_engine, false, true, level},
                                  exchange{"ordered, expected", ordered_.id(), true, false, level},
                                  exchange{"ordered, unexpected", ordered_.id(), false, true, level},
                                  exchange{"receiver-first, receive first", first_.id(), true, false, level},
                                  exchange{"receiver-first, send first", first_.id(), false, false, level}})
        each_pair([&](storage from, storage into) { cell(how.name, from, into, [&](batch& all) { swap(how, all); }); });
    }
    for (const std::uint32_t id : {inbox_id, guarded_inbox_id}) {
      each_storage(
          [&](storage from) { cell("message", from, storage::ordinary, [&](batch& all) { send_messages(id, all); }); });
      each_storage([&](storage from) {
        if (from >= storage::list) return;  // a reply takes one buffer
        cell("reply", from, storage::ordinary, [&](batch& all) { reply(id, all); });
      });
    }
    for (std::size_t region = 0; region < regions_.size(); ++region) {
      each_storage([&](storage from) { cell("put", from, storage::ordinary, [&](batch& all) { put(region, all); }); });
      each_storage([&](storage into) { cell("get", storage::ordinary, into, [&](batch& all) { get(region, all); }); });
    }
  }

 private:
  template <class Visit>
  static void each_storage(const Visit& visit) {
    for (std::size_t i = 0; i < storage_count; ++i) visit(static_cast<storage>(i));
  }
  template <class Visit>
  static void each_pair(const Visit& visit) {
    each_storage([&](storage from) { each_storage([&](storage into) { visit(from, into); }); });
  }

  std::optional<completion_record> next(completion_queue& from) {
    std::optional<completion_record> out;
    static_cast<void>(eventually(dev_, [&] { return (out = from.pop()).has_value(); }));
    return out;
  }

  // Returns when the peer is here, too.
  void meet() {
    counter sent{rt_};
    static_cast<void>(post_until_taken(dev_, peer_, {tokens_id}, {}, sent));
    if (!next(tokens_)) problem("the peer does not come");
  }

  void problem(const std::string& text) {
    is_well_ = false;
    fail_("rank " + std::to_string(rt_.rank()) + ", " + name_ + ": " + text);
  }
  void expect(const std::optional<std::string>& text) {
    if (text) problem(*text);
  }

  // The key of message `i` of this cell from rank `from`.
  [[nodiscard]] std::uint64_t key_of(std::uint32_t from, std::size_t i) const noexcept {
    return (cell_ << 8 | i) * 64 + from;
  }
  [[nodiscard]] std::uint64_t tag_of(std::size_t i) const noexcept { return cell_ << 8 | i; }
  [[nodiscard]] std::size_t index_of(std::uint64_t tag) const noexcept {
    return tag >> 8 == cell_ ? static_cast<std::size_t>(tag & 0xff) : sizes_.size();
  }

  template <class Move>
  void cell(const char* name, storage from, storage into, const Move& move) {
    ++cell_;
    const std::uint64_t draw = (cell_ + load_.seed) * 0x9e37'79b9'7f4a'7c15 >> 20;
    if (!is_well_ || draw % load_.one_in != 0) return;
    name_ = std::string{name} + " from " + name_of(from) + " into " + name_of(into);
    sizes_ = {0, 1, 40, 41, packet_bytes_, 3 * packet_bytes_};
    if (draw / load_.one_in % load_.long_one_in == 0) sizes_.push_back(long_bytes);
    kinds_.free_guarded = 0;
    batch all;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      all.out.emplace_back(kinds_, from, sizes_[i]).fill(key_of(rt_.rank(), i));
      all.in.emplace_back(kinds_, into, sizes_[i]);
    }
    move(all);
    for (std::size_t i = 0; i < sizes_.size(); ++i) expect(all.out[i].difference(key_of(rt_.rank(), i), sizes_[i]));
  }

  void swap(const exchange& how, batch& all) {
    if (how.is_early) {
      for (std::size_t i = 0; i < sizes_.size(); ++i) receive(how, i, all.in[i]);
      meet();
    }
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const post_send_options options{.tag = tag_of(i),
                                      .engine = how.engine,
                                      .complete_at = how.level,
                                      .context = &all.out[i],
                                      .allow_done = false};
      all.out[i].with_source([&](const auto& bytes) {
        static_cast<void>(post(dev_, [&] { return dev_.post_send(peer_, bytes, done_, options); }));
      });
    }
    if (!how.is_early) {
      for (std::size_t i = 0; i < sizes_.size(); ++i) receive(how, i, all.in[i]);
    }
    for (std::size_t i = 0; i < 2 * sizes_.size(); ++i) {
      const auto record = next(done_);
      if (!record) return problem("a message does not end");
      const std::size_t index = index_of(record->tag());
      if (index == sizes_.size()) return problem("a record has another tag");
      expect(static_cast<const stored_message*>(record->context())->problem_of(*record, sizes_[index]));
      if (record->operation() == operation::receive && record->message_bytes() != sizes_[index])
        problem("a receive says another size");
    }
    for (std::size_t i = 0; i < sizes_.size(); ++i) expect(all.in[i].difference(key_of(peer_, i), sizes_[i]));
  }

  void receive(const exchange& how, std::size_t i, stored_message& into) {
    const bool is_held = !how.is_early && how.engine != first_.id();
    if (is_held) {
      std::optional<message_envelope> seen;
      if (!eventually(dev_,
                      [&] { return (seen = dev_.peek(peer_, {.tag = tag_of(i), .engine = how.engine})).has_value(); }))
        return problem("peek finds nothing");
      if (seen->source != peer_ || seen->tag != tag_of(i) || seen->bytes != sizes_[i])
        problem("peek finds another message");
    }
    std::optional<matched_message> found;
    if (how.is_probed) {
      if (!eventually(
              dev_, [&] { return (found = dev_.probe(peer_, {.tag = tag_of(i), .engine = how.engine})).has_value(); }))
        return problem("no probe finds it");
    }
    into.with_target([&](const auto& buffer) {
      static_cast<void>(post(dev_, [&] {
        return found ? found->receive(buffer, done_, {.context = &into})
                     : dev_.post_recv(peer_, buffer, done_, {.tag = tag_of(i), .engine = how.engine, .context = &into});
      }));
    });
  }

  void send_messages(std::uint32_t id, batch& all) {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const post_am_options options{.tag = tag_of(i),
                                    .complete_at = i % 2 == 0 ? completion_level::local : completion_level::delivered,
                                    .context = &all.out[i],
                                    .allow_done = false};
      all.out[i].with_source([&](const auto& bytes) {
        static_cast<void>(post(dev_, [&] { return dev_.post_am(peer_, {id}, bytes, done_, options); }));
      });
    }
    complete(sizes_.size());
    arrive(id);
  }

  void reply(std::uint32_t id, batch& all) {
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const bool is_sent = eventually(dev_, [&] { return dev_.can_reply(sizes_[i]); });
      if (!is_sent) return problem("no reply is taken");
      dev_.reply(peer_, {id}, all.out[i].one(), {.tag = tag_of(i), .copy_long = true});
    }
    arrive(id);
    dev_.flush(peer_);
  }

  // One active message of each size.
  void arrive(std::uint32_t id) {
    {
      std::vector<completion_record> kept;  // so that each has memory of its own
      for (std::size_t i = 0; i < sizes_.size(); ++i) {
        auto record = next(inbox_);
        if (!record) return problem("a message does not arrive");
        const std::size_t index = index_of(record->tag());
        if (index == sizes_.size()) return problem("a message has another tag");
        check_arrived(*record, index, id);
        kept.push_back(std::move(*record));
      }
    }
    if (!allocator_.has_all_back()) problem("the memory of a message does not come back");
    meet();
  }

  void check_arrived(const completion_record& record, std::size_t index, std::uint32_t id) {
    const std::size_t bytes = sizes_[index];
    if (record.error() != errc::none) return problem(std::string{"a message has the error "} + name_of(record.error()));
    if (record.bytes() != bytes) return problem("a message has another size: " + std::to_string(record.bytes()));
    // A short one may come in a packet, or, where its arrival is confirmed, by rendezvous.
    const bool is_guarded = record.memory() != nullptr;
    if (is_guarded && record.memory() != &allocator_.pages.memory()) return problem("a message is in other memory");
    if (id == guarded_inbox_id ? !is_guarded && bytes > packet_bytes_ : is_guarded)
      return problem("a message is not in the memory of its allocator");
    std::vector<std::byte> got(bytes);
    if (is_guarded) {
      if (!record.data().empty()) problem("a message in guarded memory has data");
      const auto* const at = static_cast<const std::byte*>(record.buffer().address());
      allocator_.pages.read(static_cast<std::size_t>(at - allocator_.pages.address()), got);
    } else {
      std::ranges::copy(record.data(), got.begin());
    }
    if (!std::ranges::equal(got, bytes_of_message(key_of(peer_, index), bytes))) problem("a message has other bytes");
  }

  void complete(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto record = next(done_);
      if (!record) return problem("a post does not end");
      const auto* const of = static_cast<const stored_message*>(record->context());
      expect(of->problem_of(*record, of->bytes()));
    }
  }

  // Where message `i` is in a region.
  [[nodiscard]] std::size_t offset_of(std::size_t i) const noexcept {
    std::size_t out = 64;
    for (std::size_t k = 0; k < i; ++k) out += sizes_[k] + 64;
    return out;
  }

  void put(std::size_t region, batch& all) {
    const std::span<std::byte> mine = regions_[region].memory().first(offset_of(sizes_.size()));
    std::ranges::fill(mine, std::byte{0x33});
    meet();
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const post_put_options options{.signal = i % 2 == 0 ? signal_target{} : signal_target{signals_id},
                                     .tag = tag_of(i),
                                     .complete_at = completion_level::delivered,
                                     .context = &all.out[i],
                                     .allow_done = false};
      all.out[i].with_source([&](const auto& bytes) {
        static_cast<void>(post(dev_, [&] {
          return dev_.post_put(peer_, bytes, {there_[region], offset_of(i)}, done_, options);
        }));
      });
    }
    complete(sizes_.size());
    expect_signals(operation::put_signal);
    meet();
    std::vector<std::byte> wanted(mine.size(), std::byte{0x33});
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      std::ranges::copy(bytes_of_message(key_of(peer_, i), sizes_[i]),
                        wanted.begin() + static_cast<std::ptrdiff_t>(offset_of(i)));
    if (!std::ranges::equal(mine, wanted)) problem("the region has other bytes");
  }

  void get(std::size_t region, batch& all) {
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      std::ranges::copy(bytes_of_message(key_of(rt_.rank(), i), sizes_[i]),
                        regions_[region].memory().begin() + static_cast<std::ptrdiff_t>(offset_of(i)));
    meet();
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const post_get_options options{.signal = i % 2 == 0 ? signal_target{} : signal_target{signals_id},
                                     .tag = tag_of(i),
                                     .context = &all.in[i],
                                     .allow_done = false};
      all.in[i].with_target([&](const auto& buffer) {
        static_cast<void>(post(dev_, [&] {
          return dev_.post_get(peer_, buffer, {there_[region], offset_of(i)}, done_, options);
        }));
      });
    }
    complete(sizes_.size());
    expect_signals(operation::get_signal);
    meet();
    for (std::size_t i = 0; i < sizes_.size(); ++i) expect(all.in[i].difference(key_of(peer_, i), sizes_[i]));
  }

  void expect_signals(operation opcode) {
    for (std::size_t i = 1; i < sizes_.size(); i += 2) {
      const auto record = next(signals_);
      if (!record) return problem("a signal does not come");
      const std::size_t index = index_of(record->tag());
      if (record->operation() != opcode || index == sizes_.size() || record->bytes() != sizes_[index])
        problem("a signal is another one");
    }
  }

  runtime& rt_;
  device& dev_;
  const kinds_load load_;
  const std::function<void(const std::string&)>& fail_;
  std::uint32_t peer_;  // its own rank in a job of one
  std::size_t packet_bytes_;
  kinds_of_memory kinds_;
  guarded_allocator allocator_;
  matching_engine ordered_;
  matching_engine first_;
  std::vector<std::byte> own_;
  std::array<memory_region, 2> regions_;  // of the library's memory, and of the test's
  std::array<remote_region, 2> there_;
  completion_queue done_;
  completion_queue inbox_;
  completion_queue signals_;
  completion_queue tokens_;
  std::array<registration, 4> registrations_;
  std::vector<std::size_t> sizes_;
  std::uint64_t cell_ = 0;
  std::string name_;
  bool is_well_ = true;
};

}  // namespace

void run_kinds(runtime& rt, const kinds_load& load, const std::function<void(const std::string&)>& fail) {
  kinds_rank rank{rt, load, fail};
  rt.barrier();
  rank.run();
  rt.barrier();
}

}  // namespace weft::test
