// SPDX-License-Identifier: Apache-2.0
#include "emulate/sockets.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "emulate/client_run.hpp"
#include "emulate/server_process.hpp"

namespace weft::emulate {
namespace {

using testbed::LinkedHosts;

constexpr int kServerHost = 0;
constexpr int kClientHost = 1;

/// {server} is the server's address, {client} the client's.
std::string with_addresses(const std::string& text) {
  return with_replaced(text, {{"{server}", LinkedHosts::address(kServerHost)},
                              {"{client}", LinkedHosts::address(kClientHost)}});
}

/// Returns whether a line of /proc/net/tcp tells of a socket that listens: its fourth word is the
/// state.
bool anyone_listens() {
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string slot, local, remote, state;
      if (words >> slot >> local >> remote >> state && state == "0A") return true;
    }
  }
  return false;
}

Start start_in(const LinkedHosts& hosts, std::uint32_t host) {
  return {.environment = {{"WEFT_SERVER", LinkedHosts::address(kServerHost)}},
          .enter = [&hosts, host] { return hosts.enter_host(host); }};
}

void await(int descriptor) {
  pollfd one{descriptor, POLLIN, 0};
  ::poll(&one, 1, -1);
}

Result<ClientRun> run_both(const EmulationRequest& request, const testbed::LinkOptions& link,
                           int client_output, const StopRequest& stop) {
  auto hosts = LinkedHosts::up(link);
  if (!hosts) return hosts.error();
  if (auto contained = hosts->contain_children(); !contained) return contained.error();
  Start serve = start_in(*hosts, kServerHost);
  serve.words = {"/bin/sh", "-c", with_addresses(request.server)};
  serve.output = STDERR_FILENO;
  serve.own_group = true;
  serve.reads_input = false;
  Server server(request.server, std::move(serve));
  if (auto entered = hosts->enter_host(kServerHost); !entered) return entered.error();
  const auto listens =
      server.await(anyone_listens,
                   fmt::format("listens on no TCP port of {} after 10 s; let it bind to "
                               "{{server}} or to all addresses",
                               LinkedHosts::address(kServerHost)),
                   stop);
  if (!listens) return listens.error();
  Start client = start_in(*hosts, kClientHost);
  client.output = client_output;
  for (const std::string& word : request.command) client.words.push_back(with_addresses(word));
  auto ran = run_until_ended(std::move(client), stop, await);
  if (!ran) return ran;
  if (auto runs = server.check("while the client ran"); !runs) return runs.error();
  for (int from : {kServerHost, kClientHost}) {
    ran->packets += hosts->counters().packets[from].load();
    ran->bytes += hosts->counters().bytes[from].load();
  }
  return ran;
}

}  // namespace

Result<EmulatedRun> run_with_server(const EmulationRequest& request,
                                    const testbed::LinkOptions& link) {
  return run_client(
      request,
      fmt::format("let it connect to {{server}}, which becomes {}",
                  LinkedHosts::address(kServerHost)),
      [&](int output, const StopRequest& stop) { return run_both(request, link, output, stop); });
}

}  // namespace weft::emulate
