// SPDX-License-Identifier: Apache-2.0
#include "stream/cluster/join.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/make_error.hpp"
#include "fabric/tcp/tcp.hpp"
#include "runtime/membership/host_names.hpp"
#include "runtime/membership/life.hpp"
#include "runtime/membership/secret_file.hpp"
#include "stream/cluster/rendezvous_messages.hpp"

namespace weft::stream {
namespace {

/// The address at which this node listens: numeric hosts.
struct OwnAddress {
  std::string listen;
  std::string advertise;  ///< empty: `listen`, or an interface's address
};

Result<std::unique_ptr<Fabric>> open_rendezvous(const JoinedCluster& joined, const OwnAddress& own,
                                                std::uint16_t port, Duration peer_timeout) {
  TcpOptions options;
  options.self = joined.self;
  options.incarnation = joined.incarnation;
  options.listen = join_host_port(own.listen, port);
  options.advertise = own.advertise;
  options.job_id = joined.job.job_id + " rendezvous";
  const auto secret = std::as_bytes(std::span(joined.job.secret));
  options.secret.assign(secret.begin(), secret.end());
  options.max_message = largest_rendezvous_message;
  options.peer_timeout = peer_timeout;
  options.on_later_life = [latest = joined.outlived_by](Incarnation known) {
    *latest = std::max(*latest, known);
  };
  auto fabric = open_tcp(options);
  if (!fabric && port != 0) {
    return make_error(ErrorCode::io,
                      "node {} cannot listen at {}: {}; does a process of this rank run already, "
                      "or is this another machine?",
                      joined.self.value(), options.listen, fabric.error().message);
  }
  return fabric;
}

Result<void> add_all(const JoinedCluster& joined, const std::vector<std::string>& addresses,
                     Fabric& rendezvous) {
  for (std::uint32_t node = 0; node < joined.nodes; ++node) {
    if (node == joined.self.value()) continue;
    // The peer's incarnation is unknown yet; every incarnation is later than 0.
    auto added = rendezvous.add_peer(NodeId(node), Incarnation(0), addresses[node]);
    if (!added) {
      return Error{added.error().code, fmt::format("node {}: {}", node, added.error().message)};
    }
  }
  return {};
}

/// Keeps how the rendezvous is opened, as it may have to be once more, and opens it.
Result<void> set_rendezvous(
    std::function<Result<std::unique_ptr<Fabric>>(const JoinedCluster&)> open,
    JoinedCluster& joined) {
  auto fabric = open(joined);
  if (!fabric) return std::move(fabric).error();
  joined.rendezvous = std::move(fabric).value();
  joined.open_rendezvous = std::move(open);
  return {};
}

/// The nodes in `nodes`, with their names looked up.
struct NodeList {
  std::vector<HostPort> named;
  std::vector<std::string> hosts;  ///< numeric
};

Result<NodeList> read_nodes(const std::vector<std::string>& nodes) {
  NodeList list;
  if (nodes.size() < 2) {
    return invalid("--nodes: a job has at least two nodes, one that sends and one that builds");
  }
  std::set<std::string> seen;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto node = parse_host_port(nodes[i]);
    if (!node) return invalid("--nodes: rank {}: {}", i, node.error().message);
    if (!seen.insert(nodes[i]).second) {
      return invalid(
          "--nodes: '{}' is there twice; each node needs an address of its own, another port on "
          "the same host",
          nodes[i]);
    }
    list.named.push_back(std::move(node).value());
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto host = resolve_host(list.named[i].host);
    if (!host) {
      return Error{host.error().code, fmt::format("--nodes: rank {}: {}; correct the name or write "
                                                  "a numeric address",
                                                  i, host.error().message)};
    }
    list.hosts.push_back(std::move(host).value());
  }
  return list;
}

Result<std::uint32_t> find_rank(const ClusterConfig& config, const NodeList& list) {
  const auto nodes = static_cast<std::uint32_t>(list.hosts.size());
  if (config.rank) {
    if (*config.rank < nodes) return *config.rank;
    return invalid("--rank: {} is not between 0 and {}, the last of --nodes", *config.rank,
                   nodes - 1);
  }
  const auto here = hosts_here(list.hosts, local_addresses());
  if (here.size() == 1) return here[0];
  if (here.empty()) {
    return invalid(
        "--rank: none of the {} hosts of --nodes is this machine (it has {}); correct --nodes, or "
        "say which it is with --rank",
        nodes, fmt::join(local_addresses(), ", "));
  }
  return invalid(
      "--rank: the nodes {} of --nodes are all this machine; say with --rank which of them this "
      "process is",
      fmt::join(here, ", "));
}

/// A host's own name often stands for 127.0.1.1 in its /etc/hosts, and only there.
Result<OwnAddress> own_address(const ClusterConfig& config, const NodeList& list,
                               std::uint32_t rank) {
  const std::string& host = list.hosts[rank];
  const std::string& name = list.named[rank].host;
  const bool alias = is_loopback(host) && name != host && name != "localhost";
  if (!alias) return OwnAddress{.listen = host, .advertise = {}};
  if (config.network.empty()) return OwnAddress{.listen = "0.0.0.0", .advertise = {}};
  auto address = address_in_network(config.network, local_addresses());
  if (!address) return std::move(address).error();
  return OwnAddress{.listen = *address, .advertise = {}};
}

Result<void> set_data_address(const ClusterConfig& config, const OwnAddress& own,
                              JoinedCluster& joined) {
  const std::uint32_t port = config.data_port == 0 ? 0 : config.data_port + joined.self.value();
  if (port > 65535) {
    return invalid("--data-port: {} leaves no port for rank {}; use at most {}", config.data_port,
                   joined.self.value(), 65536 - joined.nodes);
  }
  joined.listen = join_host_port(own.listen, static_cast<std::uint16_t>(port));
  joined.advertise = own.advertise;
  return {};
}

Result<JoinedCluster> join_by_list(const ClusterConfig& config) {
  auto secret = read_secret_file(config.secret_file);
  if (!secret) return std::move(secret).error();
  auto list = read_nodes(config.nodes);
  if (!list) return std::move(list).error();
  auto rank = find_rank(config, *list);
  if (!rank) return std::move(rank).error();
  auto own = own_address(config, *list, *rank);
  if (!own) return std::move(own).error();
  JoinedCluster joined;
  joined.self = NodeId(*rank);
  joined.nodes = static_cast<std::uint32_t>(config.nodes.size());
  joined.incarnation = incarnation_now();
  joined.job = {.job_id = "weft " + config.nodes[0], .secret = std::move(secret).value()};
  if (auto set = set_data_address(config, *own, joined); !set) return set.error();
  std::vector<std::string> addresses;
  for (std::uint32_t i = 0; i < joined.nodes; ++i) {
    addresses.push_back(join_host_port(list->hosts[i], list->named[i].port));
  }
  const std::uint16_t port = list->named[*rank].port;
  const auto open = [own = *own, port, addresses, timeout = config.peer_timeout](
                        const JoinedCluster& place) -> Result<std::unique_ptr<Fabric>> {
    auto fabric = open_rendezvous(place, own, port, timeout);
    if (!fabric) return fabric;
    if (auto added = add_all(place, addresses, **fabric); !added) return added.error();
    return fabric;
  };
  if (auto set = set_rendezvous(open, joined); !set) return set.error();
  return joined;
}

Result<OwnAddress> address_under_launcher(const ClusterConfig& config,
                                          const ManagerSession& session) {
  if (!config.network.empty()) {
    auto address = address_in_network(config.network, local_addresses());
    if (!address) return std::move(address).error();
    return OwnAddress{.listen = *address, .advertise = {}};
  }
  // Alone on this machine, strangers need not even be turned away.
  if (session.size_here() == session.size())
    return OwnAddress{.listen = "127.0.0.1", .advertise = {}};
  return OwnAddress{.listen = "0.0.0.0", .advertise = {}};
}

Result<JoinedCluster> join_by_manager(const ClusterConfig& config) {
  auto session = ManagerSession::open();
  if (!session) return std::move(session).error();
  JoinedCluster joined;
  joined.session = std::move(session).value();
  joined.self = NodeId(joined.session->rank());
  joined.nodes = joined.session->size();
  joined.incarnation = incarnation_now();
  if (joined.nodes < 2) {
    return invalid("the launcher started one process; a job has at least two nodes: mpirun -n 2 …");
  }
  const bool first = joined.self.value() == 0;
  auto secrets = joined.session->exchange("weft.secret", first ? make_job_secret().secret : "-");
  if (!secrets) return std::move(secrets).error();
  joined.job = {.job_id = joined.session->job_id(), .secret = secrets->front()};
  auto own = address_under_launcher(config, *joined.session);
  if (!own) return std::move(own).error();
  if (auto set = set_data_address(config, *own, joined); !set) return set.error();
  // A launcher starts a process once: nobody knows of a later life.
  auto fabric = open_rendezvous(joined, *own, 0, config.peer_timeout);
  if (!fabric) return std::move(fabric).error();
  joined.rendezvous = std::move(fabric).value();
  auto addresses = joined.session->exchange("weft.rendezvous", joined.rendezvous->address());
  if (!addresses) return std::move(addresses).error();
  if (auto added = add_all(joined, *addresses, *joined.rendezvous); !added) return added.error();
  return joined;
}

}  // namespace

Result<void> check_cluster(const ClusterConfig& config) {
  if (config.nodes.empty()) {
    if (config.rank) {
      return invalid(
          "--rank: there is no list of nodes that it could count in; add nodes = [\"host0:7000\", "
          "…] to the file of --config");
    }
    if (ManagerSession::offered()) return {};
    return invalid(
        "no cluster: give --config FILE with nodes = [\"host0:7000\", …] in it, or start this with "
        "mpirun -n N or srun --mpi=pmix");
  }
  if (config.secret_file.empty()) {
    return invalid(
        "--secret-file is missing: name a file, the same for all nodes, of at least 16 bytes; make "
        "one with: (umask 077; head -c 32 /dev/urandom | base64 > weft.secret)");
  }
  return {};
}

Result<JoinedCluster> join_cluster(const ClusterConfig& config) {
  if (auto checked = check_cluster(config); !checked) return std::move(checked).error();
  return config.nodes.empty() ? join_by_manager(config) : join_by_list(config);
}

}  // namespace weft::stream
