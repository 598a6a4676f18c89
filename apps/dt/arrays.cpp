// SPDX-License-Identifier: BSD-3-Clause
#include "dt/arrays.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <numeric>

namespace weft_dt {
namespace {

// The benchmark multiplies in 32 bits: a product that has no room there loses its upper bits, and may be negative.
std::int32_t multiply(std::int32_t a, std::int32_t b, std::int32_t modulus) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b)) % modulus;
}

// By squares. The order of the steps is the benchmark's, as it matters where a product loses bits.
std::int32_t power(std::int32_t base, std::int32_t exponent, std::int32_t modulus) noexcept {
  std::int32_t rest = 1;
  while (exponent > 1) {
    if (exponent % 2 != 0) {
      rest = multiply(rest, base, modulus);
      --exponent;
    } else {
      base = multiply(base, base, modulus);
      exponent /= 2;
    }
  }
  return exponent == 0 ? rest : multiply(rest, base, modulus);
}

// The first number of the benchmark's generator, modulo 2^46, in (0, 1).
double first_random(std::uint32_t multiplier) noexcept {
  constexpr std::uint64_t seed = 314'159'265, modulus = std::uint64_t{1} << 46;
  return static_cast<double>(seed * multiplier % modulus) / static_cast<double>(modulus);
}

// Stretches `values` to `length`: each value is spread over as many as the lengths' ratio says, rounded down.
feature_array resample(array_store& store, std::span<const double> values, std::size_t length) {
  feature_array made = store.get(length);
  const std::span<double> to = made.values();
  std::ranges::fill(to, 0.0);
  to.front() = values.front();
  to.back() = values.back();
  const double ratio = static_cast<double>(length / values.size());
  for (std::size_t i = 1; i + 1 < values.size(); ++i) {
    const double middle = 2.0 * static_cast<double>(i);
    const auto low = static_cast<std::int32_t>(0.5 * (middle - 1) * ratio);
    const auto high = static_cast<std::int32_t>(0.5 * (middle + 1) * ratio);
    const double part = values[i] / static_cast<double>(high - low + 1);
    for (std::int32_t index = low; index <= high; ++index) to[static_cast<std::size_t>(index)] += part;
  }
  return made;
}

double distance(const double* a, const double* b) noexcept {
  double sum = 0;
  for (std::size_t field = 0; field < fields; ++field) sum += (a[field] - b[field]) * (a[field] - b[field]);
  return sum;
}

// Replaces each sample of `result` by a weighted one of `input`: of that at its place, the next and the one before, the
// one that is nearest to the result's own sample there. Both have `length` values.
void replace_samples(double* result, const double* input, std::size_t length, double weight) noexcept {
  constexpr std::size_t step = fields;
  double ahead = distance(result + step, input + step);
  for (std::size_t index = step; index + 2 * step <= length; index += step) {
    // The next sample of the result has not changed yet: its distance will be the one of the next round.
    const double here = ahead;
    ahead = distance(result + index + step, input + index + step);
    const double behind = distance(result + index - step, input + index - step);
    const double* from = ahead < here ? input + index + step : input + index;
    if (behind < std::min(here, ahead)) from = input + index - step;
    for (std::size_t field = 0; field < fields; ++field) result[index + field] = weight * from[field];
  }
}

array_memory make_memory(std::size_t length) {
  constexpr std::size_t huge_page_bytes = std::size_t{2} << 20, line_bytes = 64;
  const std::size_t bytes = length * sizeof(double);
  const std::size_t page = bytes >= huge_page_bytes ? huge_page_bytes : line_bytes;
  const std::size_t all = (bytes + page - 1) / page * page;
  array_memory made{static_cast<double*>(std::aligned_alloc(page, all))};
  if (made == nullptr) throw std::bad_alloc{};
  if (page == huge_page_bytes) static_cast<void>(::madvise(made.get(), all, MADV_HUGEPAGE));
  return made;
}

}  // namespace

feature_array& feature_array::operator=(feature_array&& other) noexcept {
  std::swap(home_, other.home_);
  std::swap(memory_, other.memory_);
  std::swap(length_, other.length_);
  return *this;
}

feature_array::~feature_array() {
  if (home_ != nullptr) home_->put(std::move(memory_));
}

array_store::array_store(graph_class size_class) noexcept
    : length_max_{std::size_t{size_of(size_class).samples + size_of(size_class).deviation} * fields} {}

void array_store::reserve(std::size_t count) {
  std::vector<feature_array> all;
  while (all.size() < count) {
    all.push_back(get(length_max_));
    std::ranges::fill(all.back().values(), 0.0);  // the system gives a page when it is first written
  }
}

feature_array array_store::get(std::size_t length) {
  {
    const std::scoped_lock lock{guard_};
    if (!free_.empty()) {
      array_memory memory = std::move(free_.back());
      free_.pop_back();
      return {*this, std::move(memory), length};
    }
    free_.reserve(++made_);  // so that `put` never allocates
  }
  return {*this, make_memory(length_max_), length};
}

void array_store::put(array_memory memory) noexcept {
  const std::scoped_lock lock{guard_};
  free_.push_back(std::move(memory));
}

std::size_t source_length(graph_class size_class, std::uint32_t id) noexcept {
  constexpr std::int32_t letter = 'S';  // in every class
  const graph_size size = size_of(size_class);
  const auto multiplier = static_cast<std::int32_t>(2 * id + 1);
  const auto base = static_cast<std::int32_t>(1 / first_random(2 * id + 1));
  const auto range = static_cast<std::int32_t>(2 * size.deviation);
  const std::int32_t more = std::abs(power(letter * base, multiplier, range));
  return (size.samples - size.deviation + static_cast<std::uint32_t>(more)) * fields;
}

std::vector<std::size_t> array_lengths(const graph& all, graph_class size_class) {
  std::vector<std::size_t> out;
  for (std::uint32_t id = 0; id < all.nodes().size(); ++id) {
    const std::vector<std::uint32_t>& inputs = all.nodes()[id].inputs;
    std::size_t length = inputs.empty() ? source_length(size_class, id) : size_of(size_class).samples * fields;
    for (const std::uint32_t number : inputs) length = std::max(length, out[all.edges()[number].from]);
    out.push_back(length);
  }
  return out;
}

void fill_source(std::span<double> values, std::uint32_t id) noexcept {
  struct sequence {
    std::int32_t factor;
    std::int32_t modulus;
    std::int32_t value = 0;
  };
  std::array<sequence, fields> all{{{2, 421}, {2, 419}, {2, 1427}, {5, 3527}}};
  const auto exponent = static_cast<std::int32_t>(values.size() * (id + 1) % 3'141'592);
  for (sequence& each : all) each.value = power(each.factor, exponent, each.modulus);
  for (std::size_t index = 0; index < values.size(); index += fields) {
    for (std::size_t field = 0; field < fields; ++field) {
      sequence& field_sequence = all[field];
      field_sequence.value = field_sequence.value * field_sequence.factor % field_sequence.modulus;
      values[index + field] = field_sequence.value;
    }
  }
}

feature_array empty_result(array_store& store, graph_class size_class) {
  feature_array made = store.get(size_of(size_class).samples * fields);
  std::ranges::fill(made.values(), 0.0);
  return made;
}

void filter(array_store& store, feature_array& result, std::span<const double> input, std::uint32_t id) {
  if (result.length() < input.size()) result = resample(store, result.values(), input.size());
  feature_array longer;
  if (input.size() < result.length()) {
    longer = resample(store, input, result.length());
    input = longer.values();
  }
  const double weight = (static_cast<double>(id) + 1) / (static_cast<double>(id) + 2);
  replace_samples(result.values().data(), input.data(), input.size(), weight);
}

void divide(std::span<double> result, std::size_t inputs) noexcept {
  const auto divisor = static_cast<std::int32_t>(inputs);
  for (double& each : result) each = static_cast<std::int32_t>(each) / divisor;
}

std::int64_t add_up(std::span<const double> input, std::uint32_t id) noexcept {
  const auto length = static_cast<double>(input.size());
  const double sum = std::accumulate(input.begin(), input.end(), 0.0,
                                     [=](double so_far, double value) { return so_far + value * value / length; });
  return static_cast<std::int64_t>((static_cast<double>(id) + 1) * sum);
}

}  // namespace weft_dt
