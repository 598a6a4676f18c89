// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends, and the buffers that programs attach (3.6).
#include <numeric>
#include <vector>

#include "mpi/objects/bsend_buffer.hpp"
#include "mpi/ranks.hpp"

namespace weft {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

constexpr int room_of(int bytes) { return bytes + MPI_BSEND_OVERHEAD; }

TEST(mpi_buffered, a_send_without_a_buffer_or_without_room_is_an_error) {
  // 3.6: the sum of data and MPI_BSEND_OVERHEAD of each message bounds what a buffer holds.
  run_ranks(2, [](numbers_of_rank mine) {
    if (mine.rank == 1) {
      std::vector<char> message(100'000);
      EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      for (int each = 0; each < 2; ++each)
        EXPECT_EQ(MPI_Recv(message.data(), 100'000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(message.back(), 'x');
      return;
    }
    const std::vector<char> message(100'000, 'x');
    EXPECT_EQ(MPI_Bsend(message.data(), 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    std::vector<char> buffer(2 * room_of(100'000));
    EXPECT_EQ(MPI_Buffer_attach(buffer.data(), 2 * room_of(100'000)), MPI_SUCCESS);
    EXPECT_EQ(MPI_Buffer_attach(buffer.data(), 1), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Bsend(message.data(), 100'000, MPI_CHAR, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Bsend(message.data(), 100'000, MPI_CHAR, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Bsend(message.data(), 100'000, MPI_CHAR, 1, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Send(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD), MPI_SUCCESS);
    EXPECT_EQ(MPI_Buffer_flush(), MPI_SUCCESS);  // all have been sent then: there is room again
    EXPECT_EQ(MPI_Bsend(message.data(), 100'000, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    void* address = nullptr;
    MPI_Count bytes = 0;
    EXPECT_EQ(MPI_Buffer_detach_c(&address, &bytes), MPI_SUCCESS);
    EXPECT_EQ(address, buffer.data());
    EXPECT_EQ(bytes, 2 * room_of(100'000));
    EXPECT_EQ(MPI_Buffer_detach_c(&address, &bytes), MPI_ERR_BUFFER);
  });
}

TEST(mpi_buffered, a_buffered_send_returns_before_its_receive_and_the_program_may_change_its_data) {
  run_ranks(2, [](numbers_of_rank mine) {
    std::vector<int> numbers(50'000, 3);
    if (mine.rank == 0) {
      std::vector<char> buffer(room_of(200'000));
      EXPECT_EQ(MPI_Buffer_attach(buffer.data(), room_of(200'000)), MPI_SUCCESS);
      EXPECT_EQ(MPI_Bsend(numbers.data(), 50'000, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
      numbers.assign(numbers.size(), -1);
      EXPECT_EQ(MPI_Send(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD), MPI_SUCCESS);
      MPI_Request flushed = MPI_REQUEST_NULL;
      EXPECT_EQ(MPI_Buffer_iflush(&flushed), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&flushed, MPI_STATUS_IGNORE), MPI_SUCCESS);
      void* address = nullptr;
      int bytes = 0;
      EXPECT_EQ(MPI_Buffer_detach(&address, &bytes), MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      std::vector<int> received(numbers.size());
      EXPECT_EQ(MPI_Recv(received.data(), 50'000, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(received, numbers);
    }
  });
}

// Threads that wait for a flush, or for an empty buffer, sleep until they are woken, or for a tenth of a second.
TEST(mpi_buffered, the_last_message_before_a_flush_and_the_last_of_all_wake_threads) {
  std::vector<std::byte> memory(10'000);
  for (void* const address : {static_cast<void*>(memory.data()), MPI_BUFFER_AUTOMATIC}) {
    mpi::bsend_buffer buffer;
    ASSERT_EQ(buffer.attach(address, memory.size()), MPI_SUCCESS);
    const mpi::buffered_room first = buffer.try_reserve(50).value(), second = buffer.try_reserve(60).value();
    mpi::request flush;
    flush.operation = mpi::request_operation::collective;
    buffer.finish_when_sent(flush);
    const mpi::buffered_room behind = buffer.try_reserve(70).value(), last = buffer.try_reserve(1).value();
    EXPECT_FALSE(buffer.release(second));
    EXPECT_FALSE(buffer.release(behind));
    EXPECT_FALSE(flush.is_done());
    EXPECT_TRUE(buffer.release(first));
    EXPECT_TRUE(flush.is_done());
    EXPECT_TRUE(buffer.release(last));
    EXPECT_TRUE(buffer.is_empty());
  }
}

TEST(mpi_buffered, a_buffer_of_the_communicator_comes_before_that_of_the_process) {
  run_ranks(1, [](numbers_of_rank) {
    std::vector<char> small(1), large(room_of(4));
    int number = 7, received = 0;
    EXPECT_EQ(MPI_Buffer_attach(small.data(), 1), MPI_SUCCESS);
    EXPECT_EQ(MPI_Comm_attach_buffer(MPI_COMM_SELF, large.data(), room_of(4)), MPI_SUCCESS);
    EXPECT_EQ(MPI_Bsend(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    EXPECT_EQ(MPI_Bsend(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_SUCCESS);
    EXPECT_EQ(MPI_Recv(&received, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(received, 7);
    EXPECT_EQ(MPI_Comm_flush_buffer(MPI_COMM_SELF), MPI_SUCCESS);
    MPI_Request flushed = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Comm_iflush_buffer(MPI_COMM_SELF, &flushed), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&flushed, MPI_STATUS_IGNORE), MPI_SUCCESS);
    void* address = nullptr;
    int bytes = 0;
    EXPECT_EQ(MPI_Comm_detach_buffer(MPI_COMM_SELF, &address, &bytes), MPI_SUCCESS);
    EXPECT_EQ(address, large.data());
    EXPECT_EQ(MPI_Buffer_detach(&address, &bytes), MPI_SUCCESS);
    EXPECT_EQ(address, small.data());
  });
}

TEST(mpi_buffered, an_automatic_buffer_has_room_for_all) {
  // 3.6: MPI_BUFFER_AUTOMATIC; its size is not used, and detaching gives the constant back.
  run_ranks(2, [](numbers_of_rank mine) {
    constexpr int messages = 300;
    std::vector<int> numbers(1000);
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
      for (int each = 0; each < messages; ++each) {
        numbers.assign(numbers.size(), each);
        EXPECT_EQ(MPI_Bsend(numbers.data(), 1000, MPI_INT, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
      }
      EXPECT_EQ(MPI_Send(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD), MPI_SUCCESS);
      void* address = nullptr;
      int bytes = 1;
      EXPECT_EQ(MPI_Buffer_detach(&address, &bytes), MPI_SUCCESS);
      EXPECT_EQ(address, MPI_BUFFER_AUTOMATIC);
      EXPECT_EQ(bytes, 0);
    } else {
      EXPECT_EQ(MPI_Recv(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      for (int each = 0; each < messages; ++each) {
        EXPECT_EQ(MPI_Recv(numbers.data(), 1000, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(numbers, std::vector<int>(1000, each));
      }
    }
  });
}

TEST(mpi_buffered, gaps_of_a_buffer_are_used_again_in_any_order_of_receives) {
  run_ranks(2, [](numbers_of_rank mine) {
    constexpr int rounds = 30, bytes = 20'000;
    std::vector<char> message(bytes);
    std::vector<char> buffer(3 * room_of(bytes));
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Buffer_attach(buffer.data(), 3 * room_of(bytes)), MPI_SUCCESS);
    }
    for (int each = 0; each < rounds; ++each) {
      if (mine.rank == 0) {
        for (int tag = 0; tag < 3; ++tag) {
          message.assign(bytes, static_cast<char>('a' + tag));
          EXPECT_EQ(MPI_Bsend(message.data(), bytes - 100 * tag, MPI_CHAR, 1, tag, MPI_COMM_WORLD), MPI_SUCCESS);
        }
        EXPECT_EQ(MPI_Buffer_flush(), MPI_SUCCESS);
      } else {
        for (const int tag : {1, 0, 2}) {
          EXPECT_EQ(MPI_Recv(message.data(), bytes, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
          EXPECT_EQ(message[1000], static_cast<char>('a' + tag));
        }
      }
    }
    void* address = nullptr;
    int size = 0;
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Buffer_detach(&address, &size), MPI_SUCCESS);
    }
  });
}

TEST(mpi_buffered, finalize_sends_all_that_is_in_a_buffer) {
  // 11.2.2: MPI_Finalize detaches buffers, and waits for their messages.
  run_ranks(2, [](numbers_of_rank mine) {
    std::vector<char> message(100'000, 'y');
    if (mine.rank == 0) {
      EXPECT_EQ(MPI_Comm_attach_buffer(MPI_COMM_WORLD, MPI_BUFFER_AUTOMATIC, 0), MPI_SUCCESS);
      EXPECT_EQ(MPI_Bsend(message.data(), 100'000, MPI_CHAR, 1, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
      std::vector<char> received(message.size());
      EXPECT_EQ(MPI_Recv(received.data(), 100'000, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(received, message);
    }
  });
}

}  // namespace
}  // namespace weft
