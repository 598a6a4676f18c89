// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/argument_objects.hpp"

#include <algorithm>

namespace weft::test {

namespace {

constexpr std::string_view kinds[] = {"MPI_Comm", "MPI_Group",      "MPI_Datatype", "MPI_Op",
                                      "MPI_Info", "MPI_Errhandler", "MPI_Request"};

void add_nothing(void*, void*, int*, MPI_Datatype*) {}
void handle_nothing(MPI_Comm*, int*, ...) {}

template <class Handle>
Handle handle_from(std::uintptr_t number) noexcept {
  return reinterpret_cast<Handle>(number);
}

// Of what a library does not have, the handle stays null: its functions are not called then.
MPI_Info info_of_one_key() {
  MPI_Info out = MPI_INFO_NULL;
  if (MPI_Info_create(&out) == MPI_SUCCESS) MPI_Info_set(out, "1", "1");
  return out;
}

MPI_Request request_for(std::string_view function) {
  static int number = 0;
  MPI_Request out = MPI_REQUEST_NULL;
  if (function == "MPI_Cancel") {
    MPI_Irecv(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &out);
  } else {
    MPI_Send_init(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &out);
  }
  return out;
}

void end_request(MPI_Request one) {
  MPI_Wait(&one, MPI_STATUS_IGNORE);
  if (one != MPI_REQUEST_NULL) MPI_Request_free(&one);
}

}  // namespace

argument_objects::argument_objects() {
  for (const std::string_view kind : kinds) all_.push_back({kind, fresh(kind, {}), false});
  const auto add = [&](std::string_view type, auto value, bool is_null) {
    all_.push_back({type, handle_number(value), is_null});
  };
  add("MPI_Comm", MPI_COMM_WORLD, false), add("MPI_Comm", MPI_COMM_NULL, true);
  add("MPI_Group", MPI_GROUP_EMPTY, false), add("MPI_Group", MPI_GROUP_NULL, true);
  add("MPI_Datatype", MPI_INT, false), add("MPI_Datatype", MPI_DATATYPE_NULL, true);
  add("MPI_Op", MPI_SUM, false), add("MPI_Op", MPI_OP_NULL, true);
  add("MPI_Info", MPI_INFO_ENV, false), add("MPI_Info", MPI_INFO_NULL, true);
  add("MPI_Errhandler", MPI_ERRORS_RETURN, false), add("MPI_Errhandler", MPI_ERRHANDLER_NULL, true);
  add("MPI_Request", MPI_REQUEST_NULL, true);
  add("MPI_Message", MPI_MESSAGE_NO_PROC, false), add("MPI_Message", MPI_MESSAGE_NULL, true);
  add("MPI_Win", MPI_WIN_NULL, true), add("MPI_File", MPI_FILE_NULL, true);
  all_.push_back({"", 0, true});
  all_.push_back({"", 0x7ff, false});  // the ABI gives it to no object
  for (const handle& each : all_) arrays_.push_back({each.value, each.value, each.value, each.value});
  const int dimensions = 1, periodic = 0;
  MPI_Comm cartesian = MPI_COMM_SELF;
  MPI_Cart_create(MPI_COMM_SELF, 1, &dimensions, &periodic, 0, &cartesian);
  cartesian_ = handle_number(cartesian);
  communicator_key_ = fresh_key("comm_keyval");
  type_key_ = fresh_key("type_keyval");
  MPI_Add_error_class(&error_class_);
}

argument_objects::~argument_objects() {
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind) end(kinds[kind], all_[kind].value);
  end("MPI_Comm", cartesian_);
  end_key("comm_keyval", communicator_key_);
  end_key("type_keyval", type_key_);
}

std::uintptr_t argument_objects::lasting(std::string_view type, std::string_view function) const {
  const auto made = [&] { return std::ranges::find(all_, type, &handle::type)->value; };
  if (type == "MPI_Comm") {
    const bool needs_topology =
        contains(function, "MPI_Cart") && function != "MPI_Cart_create" && function != "MPI_Cart_map";
    return needs_topology ? cartesian_ : handle_number(MPI_COMM_SELF);
  }
  if (type == "MPI_Datatype") return contains(function, "get_contents") ? made() : handle_number(MPI_INT);
  if (type == "MPI_Op") return handle_number(MPI_SUM);
  if (type == "MPI_Errhandler") return handle_number(MPI_ERRORS_RETURN);
  return made();
}

std::uintptr_t argument_objects::fresh(std::string_view type, std::string_view function) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (type == "MPI_Comm") return MPI_Comm_dup(MPI_COMM_SELF, &comm), handle_number(comm);
  if (type == "MPI_Group") return MPI_Comm_group(MPI_COMM_SELF, &group), handle_number(group);
  if (type == "MPI_Datatype") {
    MPI_Type_contiguous(1, MPI_INT, &datatype);
    return MPI_Type_commit(&datatype), handle_number(datatype);
  }
  if (type == "MPI_Op") return MPI_Op_create(add_nothing, 1, &op), handle_number(op);
  if (type == "MPI_Info") return handle_number(info_of_one_key());
  if (type == "MPI_Errhandler") return MPI_Comm_create_errhandler(handle_nothing, &handler), handle_number(handler);
  if (type == "MPI_Request") return handle_number(request_for(function));
  if (type == "MPI_Message") return handle_number(MPI_MESSAGE_NO_PROC);
  return 0;
}

void argument_objects::end(std::string_view type, std::uintptr_t number) {
  if (number < 0x1000) return;
  const auto free = [number](auto null, auto function) {
    auto one = handle_from<decltype(null)>(number);
    function(&one);
  };
  if (type == "MPI_Comm") free(MPI_COMM_NULL, MPI_Comm_free);
  if (type == "MPI_Group") free(MPI_GROUP_NULL, MPI_Group_free);
  if (type == "MPI_Datatype") free(MPI_DATATYPE_NULL, MPI_Type_free);
  if (type == "MPI_Op") free(MPI_OP_NULL, MPI_Op_free);
  if (type == "MPI_Info") free(MPI_INFO_NULL, MPI_Info_free);
  if (type == "MPI_Errhandler") free(MPI_ERRHANDLER_NULL, MPI_Errhandler_free);
  if (type == "MPI_Request") end_request(handle_from<MPI_Request>(number));
}

int argument_objects::lasting_key(std::string_view name) const {
  return name == "type_keyval" ? type_key_ : communicator_key_;
}

int argument_objects::fresh_key(std::string_view name) {
  int out = MPI_KEYVAL_INVALID;
  if (name == "type_keyval") {
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &out, nullptr);
  } else {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &out, nullptr);
  }
  return out;
}

void argument_objects::end_key(std::string_view name, int key) {
  if (key == MPI_KEYVAL_INVALID) return;
  static_cast<void>(name == "type_keyval" ? MPI_Type_free_keyval(&key) : MPI_Comm_free_keyval(&key));
}

std::uintptr_t argument_objects::array_of(std::uintptr_t value) const {
  const auto found = std::ranges::find(all_, value, &handle::value);
  return handle_number(arrays_[static_cast<std::size_t>(found - all_.begin())].data());
}

}  // namespace weft::test
