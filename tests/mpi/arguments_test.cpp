// SPDX-License-Identifier: BSD-3-Clause
// Each function with wrong arguments: an error class, never a crash or a wait, and nothing is written. The functions
// are those of the library's own tables. TEST_SEED replays mixtures, TEST_MIXTURES is their number
// for each function, and TEST_FUNCTION is a part of the names of the functions that are called.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include "mpi/argument_values.hpp"
#include "mpi/ranks.hpp"
#include "support/random_seed.hpp"

namespace weft {
namespace {

using test::argument_values;
using test::mpi_call;
using test::numbers_of_rank;
using test::run_ranks;
using test::wrong_argument;

// Functions that start or end the process, and one whose argument cannot be checked.
const std::set<std::string_view> untested{"MPI_Abort", "MPI_Finalize", "MPI_Init", "MPI_Init_thread", "MPI_Free_mem"};
// Functions for which the right arguments need a state of the rank that this test does not make.
const std::set<std::string_view> without_success{
    "MPI_Buffer_detach",     "MPI_Buffer_detach_c",    "MPI_Comm_detach_buffer", "MPI_Comm_detach_buffer_c",
    "MPI_Grequest_complete", "MPI_Comm_remote_size",   "MPI_Comm_remote_group",  "MPI_Remove_error_class",
    "MPI_Remove_error_code", "MPI_Remove_error_string"};
const std::set<std::string_view> chapters{"datatype", "attribute",   "buffered", "collective", "communicator",
                                          "abi",      "environment", "error",    "group",      "info",
                                          "message",  "operation",   "probe",    "request",    "topology"};

std::vector<const mpi_call*> tested_calls() {
  const char* const only = std::getenv("TEST_FUNCTION");
  std::vector<const mpi_call*> out;
  for (const mpi_call& each : test::all_mpi_calls()) {
    if (only != nullptr && !test::contains(each.name, only)) continue;
    if (!untested.contains(each.name) && chapters.contains(each.chapter)) out.push_back(&each);
  }
  return out;
}

// The call that runs, for the line that is printed when it ends the process.
std::string running;
struct sigaction former[NSIG];

void print_running_call(int signal) {
  static_cast<void>(!write(STDERR_FILENO, running.c_str(), running.size()));
  sigaction(signal, &former[signal], nullptr);
  if (signal == SIGALRM) raise(SIGABRT);
}

// Also ends a call that waits.
class watch {
 public:
  watch() {
    struct sigaction action {};
    action.sa_handler = print_running_call;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM}) sigaction(signal, &action, &former[signal]);
  }
  ~watch() {
    alarm(0);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGALRM}) sigaction(signal, &former[signal], nullptr);
  }
  watch(const watch&) = delete;
  watch& operator=(const watch&) = delete;
};

std::string text_of(const mpi_call& call, const std::vector<std::uintptr_t>& arguments) {
  std::string out = std::string{call.name} + "(";
  for (std::size_t each = 0; each < arguments.size(); ++each) {
    char number[40];
    std::snprintf(number, sizeof number, "%#llx", static_cast<unsigned long long>(arguments[each]));
    out += std::string{each == 0 ? "" : ", "} + std::string{call.parameters[each].name} + " = " + number;
  }
  return out + ")\n";
}

int run(const mpi_call& call, const std::vector<std::uintptr_t>& arguments) {
  running = text_of(call, arguments);
  alarm(60);
  const int error = call.run(arguments.data());
  alarm(0);
  return error;
}

std::string name_of_class(int error) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  return text;
}

// A class that says something about an argument.
bool is_fitting(int error, int expected) {
  const std::set<int> vague{MPI_ERR_OTHER, MPI_ERR_INTERN, MPI_ERR_UNKNOWN, MPI_ERR_UNSUPPORTED_OPERATION};
  if (vague.contains(error)) return false;
  if (expected == MPI_ERR_ARG || error == MPI_ERR_ARG) return true;
  return error == expected || (expected == MPI_ERR_COUNT && error == MPI_ERR_VALUE_TOO_LARGE);
}

TEST(mpi_arguments, that_are_right_are_taken_by_each_function) {
  run_ranks(1, [](numbers_of_rank) {
    const watch watching;
    argument_values values;
    for (const mpi_call* call : tested_calls()) {
      if (without_success.contains(call->name)) continue;
      values.prepare(*call);
      const int error = run(*call, values.right());
      EXPECT_EQ(error, MPI_SUCCESS) << running << name_of_class(error);
      values.finish();
    }
  });
}

// Empty, or the fault that was found with the answer to a wrong argument.
std::string fault_of(int error, int expected, const argument_values& values) {
  if (error == MPI_SUCCESS) return "it was taken";
  if (!values.is_untouched()) return "the function has written";
  return is_fitting(error, expected) ? "" : "it was refused by " + name_of_class(error);
}

// All wrong values of one parameter, where the other arguments are right.
void try_wrong_values(const mpi_call& call, std::size_t parameter, argument_values& values) {
  values.prepare(call);
  const std::vector<wrong_argument> all = values.wrong(parameter);
  values.finish();
  for (const wrong_argument& each : all) {
    values.prepare(call);
    std::vector<std::uintptr_t> arguments = values.right();
    arguments[parameter] = each.value;
    const int expected = without_success.contains(call.name) ? MPI_ERR_ARG : each.error_class;
    const std::string fault = fault_of(run(call, arguments), expected, values);
    values.finish();
    EXPECT_EQ(fault, "") << "wrong: " << call.parameters[parameter].name << " of " << running;
    if (!fault.empty()) break;
  }
}

TEST(mpi_arguments, one_that_is_wrong_is_refused_by_its_class_and_nothing_is_written) {
  run_ranks(1, [](numbers_of_rank) {
    const watch watching;
    argument_values values;
    for (const mpi_call* call : tested_calls()) {
      for (std::size_t each = 0; each < call->parameters.size(); ++each) try_wrong_values(*call, each, values);
    }
  });
}

int mixtures() {
  const char* const set = std::getenv("TEST_MIXTURES");
  return set != nullptr ? std::atoi(set) : WEFT_TEST_MIXTURES;
}

TEST(mpi_arguments, several_that_are_wrong_are_refused) {
  run_ranks(1, [](numbers_of_rank) {
    const watch watching;
    std::mt19937_64 random{test::random_seed()};
    argument_values values;
    for (const mpi_call* call : tested_calls()) {
      for (int mixture = 0; mixture < mixtures(); ++mixture) {
        values.prepare(*call);
        std::vector<std::uintptr_t> arguments = values.right();
        bool is_wrong = false;
        for (std::size_t parameter = 0; parameter < arguments.size(); ++parameter) {
          const std::vector<wrong_argument> all = values.wrong(parameter);
          if (all.empty() || random() % 2 == 0) continue;
          arguments[parameter] = all[random() % all.size()].value;
          is_wrong = true;
        }
        if (is_wrong) {
          EXPECT_NE(run(*call, arguments), MPI_SUCCESS) << running;
        }
        values.finish();
      }
    }
  });
}

// Of MPI_T, no argument is certainly wrong: null pointers stand for results that are not wanted. There are no
// variables.
TEST(mpi_arguments, of_any_value_do_no_harm_to_the_tool_interface) {
  run_ranks(1, [](numbers_of_rank) {
    const watch watching;
    std::mt19937_64 random{test::random_seed()};
    argument_values values;
    int provided = 0;
    EXPECT_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    for (const mpi_call& call : test::all_mpi_calls()) {
      if (call.chapter != "tool" || call.name == "MPI_T_finalize" || call.name == "MPI_T_init_thread") continue;
      for (int mixture = 0; mixture < mixtures(); ++mixture) {
        values.prepare(call);
        std::vector<std::uintptr_t> arguments = values.right();
        for (std::size_t each = 0; each < arguments.size(); ++each) {
          const bool is_pointer = call.parameters[each].type.ends_with("*");
          const std::uintptr_t others[] = {0, ~std::uintptr_t{0}, 0x7fff'ffff};
          if (random() % 2 == 0) arguments[each] = others[is_pointer ? 0 : random() % 3];
        }
        run(call, arguments);
        values.finish();
      }
    }
    EXPECT_EQ(MPI_T_finalize(), MPI_SUCCESS);
  });
}

}  // namespace
}  // namespace weft
