// SPDX-License-Identifier: BSD-3-Clause
// Functions of MPI inside functions of the program that progress calls: hooks and handlers of Weft. Nonblocking calls
// never wait there, and blocking ones are refused.
#include <algorithm>
#include <array>
#include <barrier>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "mpi/ranks.hpp"
#include "support/waiting.hpp"
#include "weft/handler.hpp"
#include "weft/hook.hpp"
#include "weft/mpi.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

device& device_of_rank() { return *describe_communicator(MPI_COMM_WORLD).device; }

// Runs `body` once, inside a hook.
void run_in_hook(const std::function<void()>& body) {
  device& dev = device_of_rank();
  bool has_run = false;
  const hook running = dev.add_hook([&] {
    body();
    has_run = true;
    return hook_answer::done;
  });
  EXPECT_TRUE(test::eventually([&] {
    dev.progress();
    return has_run;
  }));
}

const std::vector<int> levels{MPI_THREAD_SINGLE, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};

TEST(mpi_callbacks, the_first_requests_of_a_rank_are_started_in_a_hook) {
  for (const int level : levels) {
    run_ranks(
        2,
        [](numbers_of_rank mine) {
          const int peer = 1 - mine.rank;
          std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
          int sent = 40 + mine.rank, received = -1;
          run_in_hook([&] {
            EXPECT_EQ(MPI_Irecv(&received, 1, MPI_INT, peer, 7, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Isend(&sent, 1, MPI_INT, peer, 7, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
          });
          EXPECT_EQ(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
          EXPECT_EQ(received, 40 + peer);
        },
        {}, level);
  }
}

TEST(mpi_callbacks, all_that_is_nonblocking_is_started_in_a_hook) {
  for (const int level : levels) {
    run_ranks(
        2,
        [](numbers_of_rank mine) {
          constexpr std::size_t count = 12, length = 5000;
          const int peer = 1 - mine.rank;
          std::vector<MPI_Request> requests(count, MPI_REQUEST_NULL);
          std::vector<std::vector<int>> sent(count, std::vector<int>(length, 100 + mine.rank));
          std::vector<std::vector<int>> received(count, std::vector<int>(length, -1));
          std::array<MPI_Request, 2> persistent{};
          MPI_Comm made = MPI_COMM_NULL;
          EXPECT_EQ(MPI_Recv_init(received[6].data(), 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &persistent[0]),
                    MPI_SUCCESS);
          EXPECT_EQ(MPI_Send_init(sent[6].data(), 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &persistent[1]), MPI_SUCCESS);
          EXPECT_EQ(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
          run_in_hook([&] {
            constexpr int all = static_cast<int>(length);
            const auto into = [&](std::size_t index) { return received[index].data(); };
            EXPECT_EQ(MPI_Irecv(into(0), all, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Isend(sent[0].data(), all, MPI_INT, peer, 0, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Irecv(into(2), 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[2]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Issend(sent[2].data(), 1, MPI_INT, peer, 2, MPI_COMM_WORLD, &requests[3]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Irecv(into(4), 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[4]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Ibsend(sent[4].data(), 1, MPI_INT, peer, 4, MPI_COMM_WORLD, &requests[5]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Startall(2, persistent.data()), MPI_SUCCESS);
            EXPECT_EQ(MPI_Isendrecv(sent[7].data(), 1, MPI_INT, peer, 7, into(7), 1, MPI_INT, peer, 7, MPI_COMM_WORLD,
                                    &requests[7]),
                      MPI_SUCCESS);
            into(8)[0] = 100 + mine.rank;
            EXPECT_EQ(MPI_Isendrecv_replace(into(8), 1, MPI_INT, peer, 8, peer, 8, MPI_COMM_WORLD, &requests[8]),
                      MPI_SUCCESS);
            EXPECT_EQ(MPI_Ibarrier(MPI_COMM_WORLD, &requests[9]), MPI_SUCCESS);
            EXPECT_EQ(MPI_Iallreduce(sent[10].data(), into(10), all, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[10]),
                      MPI_SUCCESS);
            EXPECT_EQ(MPI_Comm_idup(MPI_COMM_WORLD, &made, &requests[11]), MPI_SUCCESS);
          });
          EXPECT_EQ(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
          EXPECT_EQ(MPI_Barrier(made), MPI_SUCCESS);
          EXPECT_EQ(MPI_Comm_free(&made), MPI_SUCCESS);
          EXPECT_EQ(MPI_Waitall(2, persistent.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
          for (MPI_Request& each : persistent) EXPECT_EQ(MPI_Request_free(&each), MPI_SUCCESS);
          EXPECT_EQ(received[0], std::vector<int>(length, 100 + peer));
          for (const std::size_t index : {2, 4, 6, 7, 8}) EXPECT_EQ(received[index][0], 100 + peer) << index;
          EXPECT_EQ(received[10], std::vector<int>(length, 201));
          void* address = nullptr;
          int bytes = 0;
          EXPECT_EQ(MPI_Buffer_detach(&address, &bytes), MPI_SUCCESS);
        },
        {}, level);
  }
}

TEST(mpi_callbacks, a_handler_answers_by_nonblocking_calls) {
  run_ranks(2, [](numbers_of_rank mine) {
    const mpi_communicator world = describe_communicator(MPI_COMM_WORLD);
    constexpr int rounds = 50;
    const int peer = 1 - mine.rank;
    std::vector<MPI_Request> requests(2 * rounds, MPI_REQUEST_NULL);
    std::vector<int> sent(rounds), received(rounds, -1);
    int count = 0;
    {
      handler asked{*world.runtime, [&](completion_record&&) {
                      const auto round = static_cast<std::size_t>(count++);
                      sent[round] = 1000 * mine.rank + static_cast<int>(round);
                      EXPECT_EQ(MPI_Irecv(&received[round], 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[2 * round]),
                                MPI_SUCCESS);
                      EXPECT_EQ(MPI_Isend(&sent[round], 1, MPI_INT, peer, 3, MPI_COMM_WORLD, &requests[2 * round + 1]),
                                MPI_SUCCESS);
                    }};
      const registration number = world.runtime->register_completion(asked, {.id = 40});
      EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
      counter posted{*world.runtime};
      for (int round = 0; round < rounds; ++round) {
        world.device->until_accepted([&] {
          return world.device->post_am(world.world_ranks[static_cast<std::size_t>(peer)], {.id = 40},
                                       std::span{&round, 1}, posted);
        });
      }
      world.device->wait_all(posted);
      EXPECT_TRUE(test::eventually([&] {
        world.device->progress();
        return count == rounds;
      }));
      EXPECT_EQ(MPI_Waitall(2 * rounds, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
    }
    for (int round = 0; round < rounds; ++round)
      EXPECT_EQ(received[static_cast<std::size_t>(round)], 1000 * peer + round);
  });
}

// More receives than the rank has operations for: they neither wait nor fail, and match in their order.
void expect_order_of_many(int level, bool is_in_hook) {
  run_ranks(
      2,
      [&](numbers_of_rank mine) {
        constexpr int count = 400;
        std::vector<int> numbers(count, -1);
        std::vector<MPI_Request> requests(count, MPI_REQUEST_NULL);
        if (mine.rank == 1) {
          EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
          std::iota(numbers.begin(), numbers.end(), 0);
          for (int each = 0; each < count; ++each) {
            EXPECT_EQ(MPI_Send(&numbers[static_cast<std::size_t>(each)], 1, MPI_INT, 0, each % 3, MPI_COMM_WORLD),
                      MPI_SUCCESS);
          }
          EXPECT_EQ(MPI_Send(&numbers[7], 1, MPI_INT, 0, 1, MPI_COMM_WORLD), MPI_SUCCESS);
          return;
        }
        const auto start = [&] {
          for (int each = 0; each < count; ++each) {
            const int source = each % 5 == 0 ? MPI_ANY_SOURCE : 1;
            EXPECT_EQ(MPI_Irecv(&numbers[static_cast<std::size_t>(each)], 1, MPI_INT, source, each % 3, MPI_COMM_WORLD,
                                &requests[static_cast<std::size_t>(each)]),
                      MPI_SUCCESS);
          }
        };
        if (is_in_hook) {
          run_in_hook(start);
        } else {
          start();
        }
        EXPECT_EQ(MPI_Send(nullptr, 0, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
        // Younger than all of them, so it finds the last message or none.
        int last = -1, flag = 0;
        MPI_Status found{};
        EXPECT_EQ(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &found), MPI_SUCCESS);
        if (flag != 0) {
          EXPECT_EQ(std::ranges::count(numbers, -1), 0);
          EXPECT_EQ(found.MPI_TAG, 1);
        }
        EXPECT_EQ(MPI_Recv(&last, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(last, 7);
        EXPECT_EQ(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (int each = 0; each < count; ++each) EXPECT_EQ(numbers[static_cast<std::size_t>(each)], each);
      },
      {.receives_max = 64}, level);
}

TEST(mpi_callbacks, more_receives_than_there_is_room_for_match_in_their_order) {
  for (const int level : levels) {
    expect_order_of_many(level, true);
    expect_order_of_many(level, false);
  }
}

// Each thread has tags of its own; the hook that posts their receives runs in any of them. All threads are in one
// round: the hook looks at the first 16 receives that wait for room, so the messages of these have to be under way.
TEST(mpi_callbacks, threads_start_more_receives_than_there_is_room_for) {
  constexpr int threads = 3;
  std::barrier end_of_round{2 * threads};
  run_ranks(
      2,
      [&](numbers_of_rank mine) {
        constexpr int count = 100, rounds = 5;
        test::run_threads_of_rank(threads, [&](int thread) {
          for (int round = 0; round < rounds; ++round) {
            std::vector<int> sent(count), received(count, -1);
            std::iota(sent.begin(), sent.end(), 1000 * round);
            std::vector<MPI_Request> requests(2 * count, MPI_REQUEST_NULL);
            for (std::size_t each = 0; each < count; ++each) {
              EXPECT_EQ(MPI_Irecv(&received[each], 1, MPI_INT, 1 - mine.rank, thread, MPI_COMM_WORLD, &requests[each]),
                        MPI_SUCCESS);
            }
            // The last one is taken back; another one takes its message.
            MPI_Status status{};
            int flag = 0, last = -1;
            EXPECT_EQ(MPI_Cancel(&requests[count - 1]), MPI_SUCCESS);
            for (std::size_t each = 0; each < count; ++each) {
              EXPECT_EQ(
                  MPI_Isend(&sent[each], 1, MPI_INT, 1 - mine.rank, thread, MPI_COMM_WORLD, &requests[count + each]),
                  MPI_SUCCESS);
            }
            EXPECT_EQ(MPI_Wait(&requests[count - 1], &status), MPI_SUCCESS);
            EXPECT_EQ(MPI_Test_cancelled(&status, &flag), MPI_SUCCESS);
            if (flag != 0) {
              EXPECT_EQ(MPI_Recv(&last, 1, MPI_INT, 1 - mine.rank, thread, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                        MPI_SUCCESS);
              received[count - 1] = last;
            }
            EXPECT_EQ(MPI_Waitall(2 * count, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
            EXPECT_EQ(received, sent);
            end_of_round.arrive_and_wait();
          }
        });
      },
      {.receives_max = 64}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_callbacks, receives_that_wait_for_room_are_cancelled_and_freed) {
  run_ranks(1,
            [](numbers_of_rank) {
              constexpr int count = 200;
              std::vector<int> numbers(count, -1);
              std::vector<MPI_Request> requests(count, MPI_REQUEST_NULL);
              run_in_hook([&] {
                for (int each = 0; each < count; ++each) {
                  EXPECT_EQ(MPI_Irecv(&numbers[static_cast<std::size_t>(each)], 1, MPI_INT, 0, each, MPI_COMM_SELF,
                                      &requests[static_cast<std::size_t>(each)]),
                            MPI_SUCCESS);
                }
              });
              // The last but one, which has no operation yet, is freed, and gets its message.
              EXPECT_EQ(MPI_Request_free(&requests[count - 2]), MPI_SUCCESS);
              int number = 12;
              EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, 0, count - 2, MPI_COMM_SELF), MPI_SUCCESS);
              for (int each = 0; each < count; ++each) {
                if (each == count - 2) continue;
                MPI_Request& request = requests[static_cast<std::size_t>(each)];
                MPI_Status status{};
                int flag = 0;
                if (each % 2 == 0) {
                  EXPECT_EQ(MPI_Send(&each, 1, MPI_INT, 0, each, MPI_COMM_SELF), MPI_SUCCESS);
                } else {
                  EXPECT_EQ(MPI_Cancel(&request), MPI_SUCCESS);
                }
                EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
                EXPECT_EQ(MPI_Test_cancelled(&status, &flag), MPI_SUCCESS);
                EXPECT_EQ(flag, each % 2);
                EXPECT_EQ(numbers[static_cast<std::size_t>(each)], each % 2 == 0 ? each : -1);
              }
              EXPECT_TRUE(test::eventually([&] {
                device_of_rank().progress();
                return numbers[count - 2] == 12;
              }));
            },
            {.receives_max = 64});
}

TEST(mpi_callbacks, finalize_ends_receives_that_wait_for_room) {
  run_ranks(2,
            [](numbers_of_rank) {
              static std::vector<int> numbers(200);
              for (int& each : numbers) {
                MPI_Request request = MPI_REQUEST_NULL;
                EXPECT_EQ(MPI_Irecv(&each, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_SUCCESS);
                EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
              }
            },
            {.receives_max = 64});
}

TEST(mpi_callbacks, blocking_calls_are_refused_and_do_nothing) {
  for (const int level : levels) {
    run_ranks(
        2,
        [](numbers_of_rank mine) {
          const int peer = 1 - mine.rank;
          int number = -1, other = -1;
          MPI_Comm made = MPI_COMM_NULL;
          MPI_Message message = MPI_MESSAGE_NULL;
          MPI_Request open = MPI_REQUEST_NULL, bcast = MPI_REQUEST_NULL;
          std::array<MPI_Request, 2> two{};
          int done = 0;
          std::array<int, 2> indices{};
          EXPECT_EQ(MPI_Irecv(&other, 1, MPI_INT, peer, 9, MPI_COMM_WORLD, &open), MPI_SUCCESS);
          const std::vector<std::pair<const char*, std::function<int()>>> calls{
              {"Recv", [&] { return MPI_Recv(&number, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }},
              {"Recv of any",
               [&] { return MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }},
              {"Send", [&] { return MPI_Send(&number, 1, MPI_INT, peer, 2, MPI_COMM_WORLD); }},
              {"Ssend", [&] { return MPI_Ssend(&number, 1, MPI_INT, peer, 2, MPI_COMM_WORLD); }},
              {"Rsend", [&] { return MPI_Rsend(&number, 1, MPI_INT, peer, 2, MPI_COMM_WORLD); }},
              {"Sendrecv",
               [&] {
                 return MPI_Sendrecv(&number, 1, MPI_INT, peer, 2, &other, 1, MPI_INT, peer, 1, MPI_COMM_WORLD,
                                     MPI_STATUS_IGNORE);
               }},
              {"Sendrecv_replace",
               [&] {
                 return MPI_Sendrecv_replace(&number, 1, MPI_INT, peer, 2, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
               }},
              {"Probe", [&] { return MPI_Probe(peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }},
              {"Mprobe", [&] { return MPI_Mprobe(peer, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE); }},
              {"Wait", [&] { return MPI_Wait(&open, MPI_STATUS_IGNORE); }},
              {"Waitall",
               [&] {
                 two = {MPI_REQUEST_NULL, open};
                 return MPI_Waitall(2, two.data(), MPI_STATUSES_IGNORE);
               }},
              {"Waitany", [&] { return MPI_Waitany(1, &open, &done, MPI_STATUS_IGNORE); }},
              {"Waitsome", [&] { return MPI_Waitsome(1, &open, &done, indices.data(), MPI_STATUSES_IGNORE); }},
              {"Barrier", [&] { return MPI_Barrier(MPI_COMM_WORLD); }},
              {"Bcast", [&] { return MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD); }},
              {"Allreduce", [&] { return MPI_Allreduce(&number, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }},
              {"Bcast_init",
               [&] { return MPI_Bcast_init(&number, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &bcast); }},
              {"Comm_dup", [&] { return MPI_Comm_dup(MPI_COMM_WORLD, &made); }},
              {"Comm_split", [&] { return MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &made); }},
              {"Finalize", [&] { return MPI_Finalize(); }},
          };
          run_in_hook([&] {
            for (const auto& [name, call] : calls) EXPECT_EQ(call(), MPI_ERR_OTHER) << name;
          });
          EXPECT_EQ(made, MPI_COMM_NULL);
          // No message was sent, and no receive takes one.
          number = 50 + mine.rank;
          std::array<int, 2> received{-1, -1};
          EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
          int flag = 1;
          EXPECT_EQ(MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
          EXPECT_EQ(flag, 0);
          EXPECT_EQ(MPI_Barrier(MPI_COMM_WORLD), MPI_SUCCESS);
          for (const int tag : {1, 9}) EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, peer, tag, MPI_COMM_WORLD), MPI_SUCCESS);
          EXPECT_EQ(MPI_Recv(&received[0], 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
          EXPECT_EQ(MPI_Wait(&open, MPI_STATUS_IGNORE), MPI_SUCCESS);
          EXPECT_EQ(received[0], 50 + peer);
          EXPECT_EQ(other, 50 + peer);
        },
        {}, level);
  }
}

TEST(mpi_callbacks, tests_look_and_make_no_progress) {
  run_ranks(1, [](numbers_of_rank) {
    int number = -1, sent = 5;
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Irecv(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_SUCCESS);
    run_in_hook([&] {
      MPI_Request send = MPI_REQUEST_NULL;
      EXPECT_EQ(MPI_Isend(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &send), MPI_SUCCESS);
      for (int each = 0; each < 2000; ++each) {
        int flag = 1;
        EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_EQ(flag, 0);
        EXPECT_EQ(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_EQ(flag, 0);
      }
      EXPECT_EQ(MPI_Request_free(&send), MPI_SUCCESS);
    });
    EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(number, 5);
    // A request that is complete is completed.
    EXPECT_EQ(MPI_Ibarrier(MPI_COMM_SELF, &request), MPI_SUCCESS);
    int flag = 0;
    EXPECT_TRUE(test::eventually([&] {
      EXPECT_EQ(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
      return flag == 1;
    }));
    run_in_hook([&] {
      EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(flag, 1);
      EXPECT_EQ(request, MPI_REQUEST_NULL);
    });
  });
}

TEST(mpi_callbacks, a_message_that_a_probe_has_matched_is_received_in_a_hook) {
  run_ranks(1,
            [](numbers_of_rank) {
              std::vector<int> numbers(200, -1);
              std::vector<MPI_Request> requests(200, MPI_REQUEST_NULL);
              std::vector<int> sent(2000);
              std::iota(sent.begin(), sent.end(), 0);
              std::vector<int> received(2000, -1);
              MPI_Request send = MPI_REQUEST_NULL, matched = MPI_REQUEST_NULL;
              MPI_Message message = MPI_MESSAGE_NULL;
              EXPECT_EQ(MPI_Isend(sent.data(), 2000, MPI_INT, 0, 500, MPI_COMM_SELF, &send), MPI_SUCCESS);
              EXPECT_EQ(MPI_Mprobe(0, 500, MPI_COMM_SELF, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
              run_in_hook([&] {
                for (int each = 0; each < 200; ++each) {
                  EXPECT_EQ(MPI_Irecv(&numbers[static_cast<std::size_t>(each)], 1, MPI_INT, 0, each, MPI_COMM_SELF,
                                      &requests[static_cast<std::size_t>(each)]),
                            MPI_SUCCESS);
                }
                EXPECT_EQ(MPI_Imrecv(received.data(), 2000, MPI_INT, &message, &matched), MPI_SUCCESS);
                EXPECT_EQ(message, MPI_MESSAGE_NULL);
              });
              for (int each = 0; each < 200; ++each)
                EXPECT_EQ(MPI_Send(&each, 1, MPI_INT, 0, each, MPI_COMM_SELF), MPI_SUCCESS);
              EXPECT_EQ(MPI_Waitall(200, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
              EXPECT_EQ(MPI_Wait(&matched, MPI_STATUS_IGNORE), MPI_SUCCESS);
              EXPECT_EQ(MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_SUCCESS);
              EXPECT_EQ(received, sent);
              EXPECT_EQ(numbers[199], 199);
            },
            {.receives_max = 64});
}

}  // namespace
}  // namespace weft
