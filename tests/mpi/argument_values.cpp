// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/argument_values.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "mpi/argument_numbers.hpp"

namespace weft::test {

namespace {

// "MPI_Comm" for "MPI_Comm", "MPI_Comm *" and "const MPI_Comm *", and so on.
std::string_view kind_of(std::string_view type) {
  if (type.starts_with("const ")) type.remove_prefix(6);
  return type.substr(0, type.find(' '));
}
bool is_kind(std::string_view kind) {
  constexpr std::string_view names[] = {"MPI_Comm", "MPI_Group",      "MPI_Datatype", "MPI_Op",
                                        "MPI_Info", "MPI_Errhandler", "MPI_Request",  "MPI_Message"};
  return std::ranges::find(names, kind) != std::end(names);
}
bool is_pointer(std::string_view type) { return type.ends_with("*"); }
bool is_function(std::string_view type) { return contains(type, "_function"); }

int class_of_kind(std::string_view kind) {
  if (kind == "MPI_Comm") return MPI_ERR_COMM;
  if (kind == "MPI_Group") return MPI_ERR_GROUP;
  if (kind == "MPI_Datatype") return MPI_ERR_TYPE;
  if (kind == "MPI_Op") return MPI_ERR_OP;
  if (kind == "MPI_Info") return MPI_ERR_INFO;
  if (kind == "MPI_Errhandler") return MPI_ERR_ERRHANDLER;
  return MPI_ERR_REQUEST;
}

bool is_data(std::string_view name) {
  constexpr std::string_view names[] = {"buf", "sendbuf", "recvbuf", "inbuf", "outbuf", "inoutbuf", "buffer"};
  return std::ranges::find(names, name) != std::end(names);
}

// Whether the function reads the handle to which a pointer points.
bool takes_handle_by_pointer(std::string_view function, std::string_view kind) {
  constexpr std::string_view parts[] = {"free", "Free", "disconnect", "commit", "Wait", "Test", "Start", "Cancel"};
  if (contains(function, "recv")) return kind == "MPI_Message";
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains(function, part); });
}

// Whether the function only writes where the parameter points.
bool is_output(std::string_view function, std::string_view name) {
  return (function == "MPI_Cart_get" || function == "MPI_Cart_coords") && (name == "dims" || name == "coords");
}

bool may_request_be_null(std::string_view function) {
  constexpr std::string_view parts[] = {"Wait", "Test", "get_status"};
  return std::ranges::any_of(parts, [&](std::string_view part) { return contains(function, part); });
}

const numbers_of_argument* numbers_for(std::string_view function, std::string_view name) {
  const auto* const found = std::ranges::find_if(scalar_arguments, [&](const numbers_of_argument& each) {
    return each.name == name && function.starts_with(each.function);
  });
  return found != std::end(scalar_arguments) ? found : nullptr;
}

std::int64_t element_for(std::string_view function, std::string_view name) {
  const auto* const found = std::ranges::find_if(array_arguments, [&](const element_of_array& each) {
    return each.name == name && function.starts_with(each.function);
  });
  return found != std::end(array_arguments) ? found->right : 0;
}

template <class Number>
void fill_numbers(std::byte* memory, std::int64_t value, std::size_t count) {
  const auto number = static_cast<Number>(value);
  for (std::size_t each = 0; each < count; ++each) std::memcpy(memory + each * sizeof number, &number, sizeof number);
}

template <class Number>
Number first_of(const std::byte* memory) {
  Number out{};
  std::memcpy(&out, memory, sizeof out);
  return out;
}

int some_query(void*, MPI_Status*) { return MPI_SUCCESS; }
int some_free(void*) { return MPI_SUCCESS; }
int some_cancel(void*, int) { return MPI_SUCCESS; }
void some_operation(void*, void*, int*, MPI_Datatype*) {}
void some_operation_c(void*, void*, MPI_Count*, MPI_Datatype*) {}
void some_handler(MPI_Comm*, int*, ...) {}

std::uintptr_t some_function(std::string_view type) {
  if (type == "MPI_User_function *") return handle_number(&some_operation);
  if (type == "MPI_User_function_c *") return handle_number(&some_operation_c);
  if (contains(type, "errhandler")) return handle_number(&some_handler);
  if (contains(type, "query")) return handle_number(&some_query);
  if (contains(type, "free")) return handle_number(&some_free);
  if (contains(type, "cancel")) return handle_number(&some_cancel);
  return 0;  // of attributes: copies nothing, deletes nothing
}

}  // namespace

void argument_values::prepare(const mpi_call& of) {
  call_ = &of;
  memory_.assign(memory_bytes * of.parameters.size(), std::byte{0});
  right_.clear();
  for (std::size_t index = 0; index < of.parameters.size(); ++index)
    right_.push_back(right_of(of.parameters[index], memory_.data() + index * memory_bytes));
  before_ = memory_;
  // A call before this one may have deleted them.
  if (of.chapter == "info") MPI_Info_set(argument_of<MPI_Info>(objects_.lasting("MPI_Info", of.name)), "1", "1");
  if (of.chapter != "attribute") return;
  MPI_Comm_set_attr(MPI_COMM_SELF, objects_.lasting_key("comm_keyval"), nullptr);
  MPI_Type_set_attr(MPI_INT, objects_.lasting_key("type_keyval"), nullptr);
}

std::uintptr_t argument_values::right_of(const mpi_parameter& of, std::byte* memory) {
  if (is_function(of.type)) return some_function(of.type);
  if (is_pointer(of.type)) {
    fill(of, memory);
    return handle_number(memory);
  }
  if (is_kind(of.type)) return objects_.lasting(of.type, call_->name);
  if (of.name.ends_with("keyval")) return static_cast<std::uintptr_t>(objects_.lasting_key(of.name));
  if (of.name.ends_with("count")) return 1;
  if (of.name == "errorclass" || call_->name == "MPI_Add_error_string")
    return static_cast<std::uintptr_t>(objects_.lasting_class());
  const numbers_of_argument* const numbers = numbers_for(call_->name, of.name);
  return numbers != nullptr ? static_cast<std::uintptr_t>(numbers->right) : 0;
}

void argument_values::fill(const mpi_parameter& of, std::byte* memory) {
  const std::string_view kind = kind_of(of.type);
  if (of.type == "const char *") {
    std::strcpy(reinterpret_cast<char*>(memory), of.name == "datarep" ? "external32" : "1");
  } else if (is_kind(kind)) {
    const bool is_read = of.type.starts_with("const");
    fill_numbers<std::uintptr_t>(
        memory,
        static_cast<std::int64_t>(is_read ? objects_.lasting(kind, call_->name) : objects_.fresh(kind, call_->name)),
        1);
  } else if (kind == "int" && of.name.ends_with("keyval")) {
    if (contains(call_->name, "free")) fill_numbers<int>(memory, objects_.fresh_key(of.name), 1);
  } else if (kind == "int") {
    fill_numbers<int>(memory, element_for(call_->name, of.name), 4);
    if (of.name == "ranges") fill_numbers<int>(memory + 2 * sizeof(int), 1, 1);
  } else if (kind == "MPI_Count" || kind == "MPI_Aint") {
    fill_numbers<std::int64_t>(memory, element_for(call_->name, of.name), 4);
  }
}

void argument_values::finish() {
  for (std::size_t index = 0; index < call_->parameters.size(); ++index) {
    const mpi_parameter& of = call_->parameters[index];
    const std::byte* const memory = memory_.data() + index * memory_bytes;
    const std::byte* const before = before_.data() + index * memory_bytes;
    if (!is_pointer(of.type) || of.type.starts_with("const")) continue;
    if (of.name == "baseptr" && memory_ != before_) MPI_Free_mem(first_of<void*>(memory));
    if (kind_of(of.type) == "int" && of.name.ends_with("keyval")) objects_.end_key(of.name, first_of<int>(memory));
    if (!is_kind(kind_of(of.type))) continue;
    const auto now = first_of<std::uintptr_t>(memory), was = first_of<std::uintptr_t>(before);
    if (now != was && call_->name == "MPI_Grequest_start") MPI_Grequest_complete(argument_of<MPI_Request>(now));
    if (now != was && !contains(call_->name, "free") && !contains(call_->name, "disconnect") &&
        !takes_handle_by_pointer(call_->name, kind_of(of.type)))
      objects_.end(kind_of(of.type), was);
    objects_.end(kind_of(of.type), now);
  }
  if (contains(call_->name, "attach_buffer") || contains(call_->name, "Buffer_attach")) {
    void* address = nullptr;
    int size = 0;
    contains(call_->name, "Comm") ? MPI_Comm_detach_buffer(MPI_COMM_SELF, &address, &size)
                                  : MPI_Buffer_detach(&address, &size);
  }
}

std::vector<wrong_argument> argument_values::wrong(std::size_t parameter) const {
  const mpi_parameter& of = call_->parameters[parameter];
  std::vector<wrong_argument> out;
  const auto add = [&](std::int64_t value, int error_class) {
    out.push_back({static_cast<std::uintptr_t>(value), error_class});
  };
  if (is_pointer(of.type)) {
    add_wrong_addresses(of, out);
  } else if (is_kind(of.type)) {
    add_wrong_handles(of.type, out);
  } else if (of.name.ends_with("keyval")) {
    for (const std::int64_t each : {0, -5, INT_MAX}) add(each, MPI_ERR_KEYVAL);
    add(objects_.lasting_key(of.name == "type_keyval" ? "comm_keyval" : "type_keyval"), MPI_ERR_KEYVAL);
  } else if (of.name.ends_with("count")) {
    for (const std::int64_t each : {-1, INT_MIN}) add(each, MPI_ERR_COUNT);
    const bool has_data =
        std::ranges::any_of(call_->parameters, [](const mpi_parameter& each) { return is_data(each.name); });
    if (of.type == "MPI_Count" && has_data) add(INT64_MAX, MPI_ERR_COUNT);
  } else if (of.name == "errorclass") {
    for (const std::int64_t each : {-1, INT_MAX}) add(each, MPI_ERR_ARG);
  } else if (const numbers_of_argument* const numbers = numbers_for(call_->name, of.name); numbers != nullptr) {
    for (const std::int64_t each : numbers->wrong) {
      if (each != 0) add(each, numbers->error_class);
    }
    if (numbers->zero_is_wrong) add(0, numbers->error_class);
  }
  return out;
}

void argument_values::add_wrong_handles(std::string_view type, std::vector<wrong_argument>& to) const {
  // Null handles of communicators and datatypes have names.
  const bool has_name = call_->name == "MPI_Comm_get_name" || call_->name == "MPI_Type_get_name";
  const bool may_be_null = has_name || (type == "MPI_Info" && !call_->name.starts_with("MPI_Info")) ||
                           (type == "MPI_Request" && may_request_be_null(call_->name));
  for (const argument_objects::handle& each : objects_.all()) {
    if (each.type != type || (each.is_null && !may_be_null)) to.push_back({each.value, class_of_kind(type)});
  }
}

void argument_values::add_wrong_addresses(const mpi_parameter& of, std::vector<wrong_argument>& to) const {
  if (is_null_wrong(of)) to.push_back({0, is_data(of.name) ? MPI_ERR_BUFFER : MPI_ERR_ARG});
  if (of.name == "buf") to.push_back({handle_number(MPI_IN_PLACE), MPI_ERR_BUFFER});
  const std::string_view kind = kind_of(of.type);
  if (std::ranges::find(never_negative, of.name) != std::end(never_negative) && !is_output(call_->name, of.name)) {
    static std::array<std::int64_t, 8> negative;  // of ints, too
    negative.fill(-1);
    to.push_back({handle_number(negative.data()), MPI_ERR_ARG});
  }
  if (!is_kind(kind) || is_function(of.type)) return;
  if (!of.type.starts_with("const") && !takes_handle_by_pointer(call_->name, kind_of(of.type))) return;
  const std::size_t first = to.size();
  add_wrong_handles(kind, to);
  for (std::size_t index = first; index < to.size(); ++index) to[index].value = objects_.array_of(to[index].value);
}

bool argument_values::is_null_wrong(const mpi_parameter& of) const {
  constexpr std::string_view optional[] = {"location", "extra_state",        "argc",
                                           "argv",     "array_of_addresses", "array_of_large_counts"};
  if (std::ranges::find(optional, of.name) != std::end(optional)) return false;
  if (of.type == "MPI_Status *") return call_->name.starts_with("MPI_Status_set");
  if (is_function(of.type)) return some_function(of.type) != 0;
  if (of.name == "attribute_val") return contains(call_->name, "get");
  if (kind_of(of.type) == "void") return is_data(of.name) || of.name == "baseptr" || of.name == "buffer_addr";
  return true;
}

}  // namespace weft::test
