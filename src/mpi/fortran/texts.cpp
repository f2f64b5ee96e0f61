// SPDX-License-Identifier: Apache-2.0
// Functions of Fortran with several strings: processes that are started later, and names of ports.
// Compilers pass the lengths of strings behind all arguments, in the order of the strings.
#include <string>
#include <vector>

#include "mpi/fortran/kinds.hpp"

namespace weft::mpi::fortran {
namespace {

std::string text_at(const char* address, std::size_t length) {
  return TextIn(const_cast<char*>(address), {nullptr, length, nullptr}).c();
}

/// A program's arguments, as C has them: strings of an array until a blank one.
class Arguments {
 public:
  /// Strings are `stride` bytes apart.
  Arguments(const char* first, std::size_t length, std::size_t stride) {
    for (const char* at = first;; at += stride) {
      texts_.push_back(text_at(at, length));
      if (texts_.back().empty()) break;
    }
    for (std::string& text : texts_) c_.push_back(text.data());
    c_.back() = nullptr;
  }
  char** c() { return c_.data(); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> c_;
};

/// Programs and arguments mean something at the root alone.
bool is_root(MPI_Comm comm, int root) {
  int rank = -1;
  return MPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

int* codes_of(int* codes) {
  return codes == abi::fortran_errcodes_ignore ? nullptr : codes;
}

}  // namespace
}  // namespace weft::mpi::fortran

using namespace weft::mpi::fortran;
namespace abi = weft::mpi::abi;

extern "C" {

void mpi_comm_spawn_(const char* command, const char* arguments, const int* processes, void* info,
                     const int* root, void* comm, void* made, int* codes, int* error,
                     std::size_t command_length, std::size_t argument_length) {
  const MPI_Comm parents = Comm(comm, {}).c();
  CommOut children(made, {});
  if (!is_root(parents, *root)) {
    *error = MPI_Comm_spawn("", nullptr, *processes, MPI_INFO_NULL, *root, parents, children.c(),
                            codes_of(codes));
    return children.done(*error);
  }
  const std::string program = text_at(command, length_of(command_length));
  const std::size_t length = length_of(argument_length);
  const bool has_arguments = arguments != abi::fortran_argv_null;
  Arguments own(has_arguments ? arguments : " ", has_arguments ? length : 1, length);
  *error = MPI_Comm_spawn(program.c_str(), own.c(), *processes, Info(info, {}).c(), *root, parents,
                          children.c(), codes_of(codes));
  children.done(*error);
}

void mpi_comm_spawn_multiple_(const int* count, const char* commands, const char* arguments,
                              const int* processes, void* infos, const int* root, void* comm,
                              void* made, int* codes, int* error, std::size_t command_length,
                              std::size_t argument_length) {
  const MPI_Comm parents = Comm(comm, {}).c();
  CommOut children(made, {});
  std::vector<std::string> programs;
  std::vector<Arguments> own;
  const bool decides = is_root(parents, *root);
  const auto length = length_of(argument_length), rows = Context{count, 0, nullptr}.count();
  const bool has_arguments = decides && arguments != abi::fortran_argvs_null;
  for (std::size_t i = 0; decides && i < rows; ++i) {
    const std::size_t command_bytes = length_of(command_length);
    programs.push_back(text_at(commands + i * command_bytes, command_bytes));
    if (has_arguments) own.emplace_back(arguments + i * length, length, rows * length);
  }
  std::vector<char*> names;
  for (std::string& program : programs) names.push_back(program.data());
  std::vector<char**> lists;
  for (Arguments& list : own) lists.push_back(list.c());
  *error =
      MPI_Comm_spawn_multiple(*count, names.data(), has_arguments ? lists.data() : nullptr,
                              processes, decides ? Infos(infos, {count, 0, nullptr}).c() : nullptr,
                              *root, parents, children.c(), codes_of(codes));
  children.done(*error);
}

void mpi_publish_name_(const char* service, void* info, const char* port, int* error,
                       std::size_t service_length, std::size_t port_length) {
  *error = MPI_Publish_name(text_at(service, length_of(service_length)).c_str(), Info(info, {}).c(),
                            text_at(port, length_of(port_length)).c_str());
}

void mpi_unpublish_name_(const char* service, void* info, const char* port, int* error,
                         std::size_t service_length, std::size_t port_length) {
  *error = MPI_Unpublish_name(text_at(service, length_of(service_length)).c_str(),
                              Info(info, {}).c(), text_at(port, length_of(port_length)).c_str());
}

void mpi_lookup_name_(const char* service, void* info, char* port, int* error,
                      std::size_t service_length, std::size_t port_length) {
  TextOut found(port, {nullptr, length_of(port_length), nullptr});
  *error = MPI_Lookup_name(text_at(service, length_of(service_length)).c_str(), Info(info, {}).c(),
                           found.c());
  found.done(*error);
}

}  // extern "C"
