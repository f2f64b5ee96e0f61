// SPDX-License-Identifier: Apache-2.0
// The chapter on process creation: groups of one job that find each other by ports, names or
// sockets.
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <limits>
#include <map>
#include <string_view>

#include "mpi/api/dynamic.hpp"
#include "mpi/api/intercommunicators.hpp"
#include "mpi/api/text.hpp"

namespace weft::mpi {
namespace {

/// A port is a process of this job and a number there: "weft:JOB:NODE:NUMBER".
struct Port {
  std::uint32_t node = 0;
  std::uint32_t number = 0;
};
constexpr std::string_view port_begins = "weft:";
/// Tags of a port's messages, from the one that connects and from the one that accepts.
constexpr int tags_per_port = 4;
constexpr std::uint32_t most_ports = std::numeric_limits<int>::max() / tags_per_port;
/// As many as the ABI with the fewest has.
constexpr std::size_t most_port_name = 256;

std::string job_of_port() {
  return fmt::format("{}{}:", port_begins, library().process->job().job_id);
}

std::uint32_t number_in(std::string_view& text) {
  std::uint32_t number = ~std::uint32_t{0};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{} ? number : ~std::uint32_t{0};
}

/// Empty `why`: it is one of this job.
Port read_port(std::string_view name, std::string& why) {
  const std::string begins = job_of_port();
  Port port;
  if (!name.starts_with(port_begins)) {
    why = fmt::format("'{}' is no port", name);
  } else if (!name.starts_with(begins)) {
    why =
        fmt::format("'{}' is a port of another job; ports are for processes of one weft run", name);
  } else {
    name.remove_prefix(begins.size());
    port.node = number_in(name);
    if (name.starts_with(':')) name.remove_prefix(1);
    port.number = number_in(name);
    const JobDescription& job = library().process->job();
    if (!name.empty() || port.node >= std::max(job.nodes, job.room) || port.number == 0 ||
        port.number >= most_ports) {
      why = "the port is damaged";
    }
  }
  return port;
}

/// The launcher knows which ports are open: no process of the job has another life.
bool has_launcher() {
  const JobProcess& process = *library().process;
  return process.is_launched() && !process.job().retain && process.job().file.empty();
}

/// Empty: the launcher has done it, or says that it is so.
std::string ask_about_port(LauncherQuestion::Kind kind, const std::string& name) {
  if (!has_launcher()) return {};
  const auto answer =
      ask_launcher({.kind = kind, .programs = {}, .parents = {}, .name = name, .value = {}});
  return answer ? std::string() : answer.error().message;
}

/// For messages between any two processes of the job, by node.
MPI_Comm everybody() {
  Library& mpi = library();
  if (mpi.everybody == MPI_COMM_NULL) {
    const JobDescription& job = mpi.process->job();
    mpi.everybody =
        add_communicator(mpi.world, everybody_group(std::max(job.nodes, job.room), job.self));
  }
  return mpi.everybody;
}

/// A side is two messages: how many are in it, and who.
int send_side(const InterSide& side, int to, int tag) {
  const std::uint64_t head[2] = {side.generation, side.members.size()};
  const int error = MPI_Send(head, sizeof head, MPI_BYTE, to, tag, everybody());
  if (error != MPI_SUCCESS) return error;
  return MPI_Send(side.members.data(), static_cast<int>(side.members.size() * 4), MPI_BYTE, to,
                  tag + 1, everybody());
}

int receive_side(InterSide& side, int& from, int tag) {
  std::uint64_t head[2] = {};
  MPI_Status status{};
  const int error = MPI_Recv(head, sizeof head, MPI_BYTE, from, tag, everybody(), &status);
  if (error != MPI_SUCCESS) return error;
  from = status.MPI_SOURCE;
  side.generation = head[0];
  side.members.resize(head[1]);
  return MPI_Recv(side.members.data(), static_cast<int>(head[1] * 4), MPI_BYTE, from, tag + 1,
                  everybody(), abi::status_ignore);
}

/// Waits for the first message of the process that accepts. It answers before it closes the port:
/// once that is closed, the answer is on its way, or none is. `why` is set where none is.
int await_acceptance(const Call& call, const char* name, const Port& port, int tag,
                     std::string& why) {
  if (!has_launcher()) return MPI_SUCCESS;
  constexpr Duration between_looks = Duration::seconds(1);
  Library& mpi = library();
  const Duration longest_way =
      std::min(mpi.process->messenger().give_up_after(), Duration::seconds(10));
  int error = MPI_SUCCESS;
  const Communicator& all = *call.communicator(everybody(), error);
  Instant look_at = mpi.process->now() + between_looks, give_up_at = Instant::never();
  while (!mpi.transfer->failure() && !mpi.transfer->waiting(all.group, port.node, tag)) {
    mpi.transfer->turn();
    rest();
    const Instant now = mpi.process->now();
    if (now >= give_up_at) break;
    if (now < look_at || give_up_at != Instant::never()) continue;
    why = ask_about_port(LauncherQuestion::Kind::find_port, name);
    if (!why.empty()) give_up_at = now + longest_way;
    look_at = now + between_looks;
  }
  if (mpi.transfer->waiting(all.group, port.node, tag)) why.clear();
  return call.settle(&all);
}

/// Empty: processes can meet there.
std::string why_not(const char* name, const Port& port, bool accepts) {
  const NodeId self = library().process->job().self;
  if (accepts && NodeId(port.node) != self) {
    return fmt::format(
        "the port is of rank {} of the job, and the root of MPI_Comm_accept is "
        "rank {}; accept where the port was opened",
        port.node, self.value());
  }
  return ask_about_port(LauncherQuestion::Kind::find_port, name);
}

int meet_at_port(const char* function, const char* name, int root, MPI_Comm comm, MPI_Comm* made,
                 bool accepts) {
  const Call call{function};
  int error = MPI_SUCCESS;
  Communicator* const local = call.communicator(comm, error);
  if (local == nullptr) return error;
  return meet(call, *local, root, made, [&](const InterSide& own, InterSide& other) {
    std::string why;
    const Port port = read_port(name, why);
    if (why.empty()) why = why_not(name, port, accepts);
    if (!why.empty()) return call.fail(local, MPI_ERR_PORT, why);
    const int tag = static_cast<int>(port.number) * tags_per_port;
    int peer = accepts ? MPI_ANY_SOURCE : static_cast<int>(port.node);
    // The connecting side sends first, because the accepting side does not know it before.
    int problem = accepts ? receive_side(other, peer, tag) : send_side(own, peer, tag);
    if (problem == MPI_SUCCESS && !accepts) {
      problem = await_acceptance(call, name, port, tag + 2, why);
      if (!why.empty()) return call.fail(local, MPI_ERR_PORT, why);
    }
    if (problem != MPI_SUCCESS) return problem;
    return accepts ? send_side(own, peer, tag + 2) : receive_side(other, peer, tag + 2);
  });
}

/// Names of a process that no launcher serves.
LauncherAnswer answer_here(const LauncherQuestion& question) {
  static std::map<std::string, std::string> names;
  const auto found = names.find(question.name);
  using Kind = LauncherQuestion::Kind;
  if ((found != names.end()) == (question.kind == Kind::publish)) return {.refusal = "no"};
  if (question.kind == Kind::publish) names[question.name] = question.value;
  LauncherAnswer answer{.value = found != names.end() ? found->second : std::string()};
  if (question.kind == Kind::unpublish) names.erase(found);
  return answer;
}

/// The value of the name. An error of the class `error_class` where the launcher refuses.
int ask_about_name(const Call& call, const LauncherQuestion& question, int error_class,
                   std::string& value) {
  int error = MPI_SUCCESS;
  if (call.communicator(MPI_COMM_WORLD, error) == nullptr) return error;
  const bool is_alone = !library().process->is_launched() && library().process->size() == 1;
  const auto answer =
      is_alone ? Result<LauncherAnswer>(answer_here(question)) : ask_launcher(question);
  const std::string why = answer ? answer->refusal : answer.error().message;
  if (!why.empty()) {
    const Library& mpi = library();
    // With restarts weft run refuses every name.
    return mpi.process->job().retain && !mpi.transfer->failure()
               ? call.fail_in_each_life(&mpi.world, error_class, why)
               : call.fail(&mpi.world, error_class, why);
  }
  value = answer->value;
  return MPI_SUCCESS;
}

// ---- a socket that two processes have

struct SocketGreeting {
  std::array<char, 128> job{};
  std::uint64_t generation = 0;
  std::uint32_t node = 0;
};

/// All of it, both ways. False: the socket does not give it.
bool exchange_greetings(int socket, const SocketGreeting& own, SocketGreeting& other) {
  const auto all = [&](auto&& part, char* at) {
    for (std::size_t done = 0; done < sizeof own;) {
      const ssize_t n = part(socket, at + done, sizeof own - done, MSG_NOSIGNAL);
      if (n == 0 || (n < 0 && errno != EINTR)) return false;
      done += n > 0 ? static_cast<std::size_t>(n) : 0;
    }
    return true;
  };
  SocketGreeting copy = own;
  return all(::send, reinterpret_cast<char*>(&copy)) &&
         all(::recv, reinterpret_cast<char*>(&other));
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Open_port(MPI_Info, char* name) {
  static std::uint32_t ports = 0;
  const Call call{"MPI_Open_port"};
  int error = MPI_SUCCESS, length = 0;
  if (call.communicator(MPI_COMM_WORLD, error) == nullptr) return error;
  const std::string text =
      fmt::format("{}{}:{}", job_of_port(), library().process->job().self.value(), ++ports);
  const std::string why = ask_about_port(weft::LauncherQuestion::Kind::open_port, text);
  if (!why.empty()) return call.fail(&library().world, MPI_ERR_OTHER, why);
  copy_text(text, most_port_name, name, &length);
  return MPI_SUCCESS;
}

int MPI_Close_port(const char* name) {
  const Call call{"MPI_Close_port"};
  std::string why;
  int error = MPI_SUCCESS;
  if (call.communicator(MPI_COMM_WORLD, error) == nullptr) return error;
  read_port(name, why);
  if (why.empty()) why = ask_about_port(weft::LauncherQuestion::Kind::close_port, name);
  return why.empty() ? MPI_SUCCESS : call.fail(&library().world, MPI_ERR_PORT, why);
}

int MPI_Comm_accept(const char* name, MPI_Info, int root, MPI_Comm comm, MPI_Comm* made) {
  return meet_at_port("MPI_Comm_accept", name, root, comm, made, true);
}

int MPI_Comm_connect(const char* name, MPI_Info, int root, MPI_Comm comm, MPI_Comm* made) {
  return meet_at_port("MPI_Comm_connect", name, root, comm, made, false);
}

int MPI_Publish_name(const char* service, MPI_Info, const char* port) {
  std::string ignored;
  return ask_about_name({"MPI_Publish_name"},
                        {.kind = weft::LauncherQuestion::Kind::publish,
                         .programs = {},
                         .parents = {},
                         .name = service,
                         .value = port},
                        MPI_ERR_SERVICE, ignored);
}

int MPI_Unpublish_name(const char* service, MPI_Info, const char*) {
  std::string ignored;
  return ask_about_name({"MPI_Unpublish_name"},
                        {.kind = weft::LauncherQuestion::Kind::unpublish,
                         .programs = {},
                         .parents = {},
                         .name = service,
                         .value = {}},
                        MPI_ERR_SERVICE, ignored);
}

int MPI_Lookup_name(const char* service, MPI_Info, char* port) {
  std::string value;
  const int error = ask_about_name({"MPI_Lookup_name"},
                                   {.kind = weft::LauncherQuestion::Kind::lookup,
                                    .programs = {},
                                    .parents = {},
                                    .name = service,
                                    .value = {}},
                                   MPI_ERR_NAME, value);
  int length = 0;
  if (error == MPI_SUCCESS) copy_text(value, most_port_name, port, &length);
  return error;
}

/// Two processes of one job; others get no communicator.
int MPI_Comm_join(int socket, MPI_Comm* made) {
  const Call call{"MPI_Comm_join"};
  int error = MPI_SUCCESS;
  Communicator* const self = call.communicator(MPI_COMM_SELF, error);
  if (self == nullptr) return error;
  const weft::JobDescription& job = library().process->job();
  bool is_same_job = true;
  error = meet(call, *self, 0, made, [&](const InterSide& own, InterSide& other) {
    SocketGreeting ours{.job = {}, .generation = own.generation, .node = job.self.value()};
    SocketGreeting theirs;
    job.job_id.copy(ours.job.data(), ours.job.size() - 1);
    if (!exchange_greetings(socket, ours, theirs)) {
      return call.fail(self, MPI_ERR_OTHER, "the socket {} broke", socket);
    }
    other.generation = theirs.generation;
    other.members = {theirs.node};
    is_same_job = ours.job == theirs.job && theirs.node != ours.node;
    return is_same_job ? MPI_SUCCESS : MPI_ERR_OTHER;
  });
  if (is_same_job) return error;
  *made = MPI_COMM_NULL;
  return MPI_SUCCESS;
}
