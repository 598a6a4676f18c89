#include "mpi/objects/operation.hpp"

#include <complex>
#include <cstdint>
#include <functional>

#include "mpi/objects/basic_type.hpp"
#include "mpi/objects/datatype_handle.hpp"

namespace weft::mpi {
namespace {

using found = std::optional<weft::reduction>;

// Each of these takes operations of one kind, and finds nothing for others.
template <class Value>
found sums(MPI_Op op) noexcept {
  if (op == MPI_SUM) return reduction::by<Value, std::plus<>>();
  if (op == MPI_PROD) return reduction::by<Value, std::multiplies<>>();
  return {};
}

template <class Value>
found extremes(MPI_Op op) noexcept {
  if (op == MPI_MIN) return reduction::by<Value, reductions::min>();
  if (op == MPI_MAX) return reduction::by<Value, reductions::max>();
  return {};
}

template <class Value>
found logicals(MPI_Op op) noexcept {
  if (op == MPI_LAND) return reduction::by<Value, std::logical_and<>>();
  if (op == MPI_LOR) return reduction::by<Value, std::logical_or<>>();
  if (op == MPI_LXOR) return reduction::by<Value, reductions::logical_xor>();
  return {};
}

template <class Value>
found bits(MPI_Op op) noexcept {
  if (op == MPI_BAND) return reduction::by<Value, std::bit_and<>>();
  if (op == MPI_BOR) return reduction::by<Value, std::bit_or<>>();
  if (op == MPI_BXOR) return reduction::by<Value, std::bit_xor<>>();
  return {};
}

template <class Value>
found of_integer(MPI_Op op) noexcept {
  for (found (*const kind)(MPI_Op) noexcept : {sums<Value>, extremes<Value>, logicals<Value>, bits<Value>}) {
    if (const found out = kind(op)) return out;
  }
  return {};
}

template <class Value>
found of_floating(MPI_Op op) noexcept {
  const found out = sums<Value>(op);
  return out ? out : extremes<Value>(op);
}

template <class Value>
found of_pair(MPI_Op op) noexcept {
  using pair = reductions::located<Value, int>;
  if (op == MPI_MINLOC) return reduction::by<pair, reductions::min_located>();
  if (op == MPI_MAXLOC) return reduction::by<pair, reductions::max_located>();
  return {};
}

found of_signed(MPI_Op op, std::size_t bytes) noexcept {
  switch (bytes) {
    case 1: return of_integer<std::int8_t>(op);
    case 2: return of_integer<std::int16_t>(op);
    case 4: return of_integer<std::int32_t>(op);
    case 8: return of_integer<std::int64_t>(op);
    default: return {};
  }
}

found of_unsigned(MPI_Op op, std::size_t bytes) noexcept {
  switch (bytes) {
    case 1: return of_integer<std::uint8_t>(op);
    case 2: return of_integer<std::uint16_t>(op);
    case 4: return of_integer<std::uint32_t>(op);
    case 8: return of_integer<std::uint64_t>(op);
    default: return {};
  }
}

found of_floating_bytes(MPI_Op op, std::size_t bytes) noexcept {
  switch (bytes) {
    case sizeof(float): return of_floating<float>(op);
    case sizeof(double): return of_floating<double>(op);
    case sizeof(long double): return of_floating<long double>(op);
    default: return {};
  }
}

found of_complex(MPI_Op op, std::size_t bytes) noexcept {
  switch (bytes) {
    case 2 * sizeof(float): return sums<std::complex<float>>(op);
    case 2 * sizeof(double): return sums<std::complex<double>>(op);
    case 2 * sizeof(long double): return sums<std::complex<long double>>(op);
    default: return {};
  }
}

found of_pair_type(MPI_Op op, const basic_type& of) noexcept {
  switch (of.value_bytes) {
    case 2: return of_pair<std::int16_t>(op);
    case 4: return of.has_floating_value ? of_pair<float>(op) : of_pair<std::int32_t>(op);
    case 8: return of.has_floating_value ? of_pair<double>(op) : of_pair<std::int64_t>(op);
    case 16: return of_pair<long double>(op);
    default: return {};
  }
}

}  // namespace

found reduction_of(MPI_Op op, const datatype& type) noexcept {
  const basic_type of = basic_type_of(handle_of(type));
  switch (of.of) {
    case type_class::signed_integer: return of_signed(op, of.bytes);
    case type_class::unsigned_integer: return of_unsigned(op, of.bytes);
    case type_class::floating: return of_floating_bytes(op, of.bytes);
    case type_class::complex: return of_complex(op, of.bytes);
    case type_class::logical: return logicals<bool>(op);
    case type_class::byte: return bits<std::uint8_t>(op);
    case type_class::pair: return of_pair_type(op, of);
    case type_class::none:
    case type_class::character: return {};
  }
  return {};
}

}  // namespace weft::mpi
