// SPDX-License-Identifier: Apache-2.0
// A program on plain ibverbs that knows nothing of weft: two processes, each in a network namespace
// with an adapter of its own, send each other 8 bytes and print the least time of one way. It
// checks the received bytes, reads the peer's memory once, and polls or sleeps on its queue.
//   verbs_pingpong NETNS_A DEVICE_A NETNS_B DEVICE_B poll|sleep
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kMessages = 20;
constexpr std::uint8_t kGidIndex = 1;  // RoCE v2, IPv4

void require(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(1);
}

struct End {
  ibv_gid gid;
  std::uint32_t number;
  std::uint32_t key;
  std::uint64_t address;
};

struct Side {
  Side(const std::string& netns, const std::string& name, int line, bool sleeps);
  void connect(int line);
  void post_receive();
  void post(ibv_wr_opcode opcode, std::uint64_t value);
  /// The next completion of that kind; others before it are of this side's own sends.
  void wait_for(ibv_wc_opcode opcode);

  ibv_context* context = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* queue = nullptr;
  ibv_qp* pair = nullptr;
  ibv_mr* region = nullptr;
  std::uint64_t memory[4] = {};  // out, in, to be read by the peer, read from the peer
  End peer{};
};

ibv_context* open_device(const std::string& name) {
  int count = 0;
  ibv_device** const devices = ibv_get_device_list(&count);
  for (int i = 0; i < count; ++i) {
    if (ibv_get_device_name(devices[i]) == name) return ibv_open_device(devices[i]);
  }
  return nullptr;
}

Side::Side(const std::string& netns, const std::string& name, int line, bool sleeps) {
  const int space = ::open(("/run/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC);
  require(space >= 0 && ::setns(space, CLONE_NEWNET) == 0, netns.c_str());
  context = open_device(name);
  require(context != nullptr, name.c_str());
  ibv_pd* const domain = ibv_alloc_pd(context);
  region =
      ibv_reg_mr(domain, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  require(region != nullptr, "memory");
  if (sleeps) channel = ibv_create_comp_channel(context);
  queue = ibv_create_cq(context, 64, nullptr, channel, 0);
  require(queue != nullptr, "queue");
  if (sleeps) require(ibv_req_notify_cq(queue, 0) == 0, "notify");
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = queue;
  wanted.qp_type = IBV_QPT_RC;
  wanted.cap = {16, 16, 1, 1, 0};
  pair = ibv_create_qp(domain, &wanted);
  require(pair != nullptr, "queue pair");
  connect(line);
}

void Side::connect(int line) {
  End own{};
  require(ibv_query_gid(context, 1, kGidIndex, &own.gid) == 0, "gid");
  own.number = pair->qp_num;
  own.key = region->rkey;
  own.address = reinterpret_cast<std::uintptr_t>(memory);
  memory[2] = own.number;
  require(::write(line, &own, sizeof own) == sizeof own, "write");
  require(::read(line, &peer, sizeof peer) == sizeof peer, "read");
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = 1;
  attributes.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  require(ibv_modify_qp(pair, &attributes,
                        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
          "init");
  post_receive();
  attributes.qp_state = IBV_QPS_RTR;
  attributes.path_mtu = IBV_MTU_1024;
  attributes.dest_qp_num = peer.number;
  attributes.max_dest_rd_atomic = 1;
  attributes.min_rnr_timer = 12;
  attributes.ah_attr.is_global = 1;
  attributes.ah_attr.grh.dgid = peer.gid;
  attributes.ah_attr.grh.sgid_index = kGidIndex;
  attributes.ah_attr.grh.hop_limit = 1;
  attributes.ah_attr.port_num = 1;
  require(ibv_modify_qp(pair, &attributes,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                            IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0,
          "ready to receive");
  attributes.qp_state = IBV_QPS_RTS;
  attributes.timeout = 18;
  attributes.retry_cnt = 7;
  attributes.rnr_retry = 7;
  attributes.max_rd_atomic = 1;
  require(ibv_modify_qp(pair, &attributes,
                        IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                            IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0,
          "ready to send");
  char both = 0;
  require(::write(line, &both, 1) == 1 && ::read(line, &both, 1) == 1, "barrier");
}

void Side::post_receive() {
  ibv_sge segment{reinterpret_cast<std::uintptr_t>(&memory[1]), sizeof memory[1], region->lkey};
  ibv_recv_wr request{};
  request.sg_list = &segment;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  require(ibv_post_recv(pair, &request, &bad) == 0, "post a receive");
}

void Side::post(ibv_wr_opcode opcode, std::uint64_t value) {
  memory[0] = value;
  const std::size_t place = opcode == IBV_WR_RDMA_READ ? 3 : 0;
  ibv_sge segment{reinterpret_cast<std::uintptr_t>(&memory[place]), sizeof value, region->lkey};
  ibv_send_wr request{};
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = opcode;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = peer.address + 2 * sizeof value;
  request.wr.rdma.rkey = peer.key;
  ibv_send_wr* bad = nullptr;
  require(ibv_post_send(pair, &request, &bad) == 0, "post");
}

void Side::wait_for(ibv_wc_opcode opcode) {
  for (;;) {
    ibv_wc completion{};
    const int count = ibv_poll_cq(queue, 1, &completion);
    require(count >= 0 && (count == 0 || completion.status == IBV_WC_SUCCESS), "completion");
    if (count == 1 && completion.opcode == opcode) return;
    if (count == 1) continue;
    if (channel == nullptr) {
      ::sched_yield();
      continue;
    }
    ibv_cq* told = nullptr;
    void* context_of_it = nullptr;
    require(ibv_get_cq_event(channel, &told, &context_of_it) == 0, "event");
    ibv_ack_cq_events(told, 1);
    require(ibv_req_notify_cq(queue, 0) == 0, "notify");
  }
}

using Clock = std::chrono::steady_clock;

long nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

int ping(Side& side) {
  long least = 0;
  for (std::uint64_t i = 1; i <= kMessages; ++i) {
    const auto start = Clock::now();
    side.post(IBV_WR_SEND, i);
    side.wait_for(IBV_WC_RECV);
    const long took = nanoseconds_since(start) / 2;
    least = i == 1 ? took : std::min(least, took);
    require(side.memory[1] == 100 * i, "the answer is wrong");
    side.post_receive();
  }
  const auto start = Clock::now();
  side.post(IBV_WR_RDMA_READ, 0);
  side.wait_for(IBV_WC_RDMA_READ);
  const long read = nanoseconds_since(start);
  require(side.memory[3] == side.peer.number, "what was read is wrong");
  side.post(IBV_WR_SEND, 0);
  side.wait_for(IBV_WC_SEND);
  std::printf("one_way_ns %ld\nread_ns %ld\n", least, read);
  return 0;
}

int pong(Side& side) {
  for (;;) {
    side.wait_for(IBV_WC_RECV);
    const std::uint64_t value = side.memory[1];
    if (value == 0) return 0;
    side.post_receive();
    side.post(IBV_WR_SEND, 100 * value);
  }
}

}  // namespace

int main(int argc, char** argv) {
  require(argc == 6, "verbs_pingpong NETNS_A DEVICE_A NETNS_B DEVICE_B poll|sleep");
  const bool sleeps = std::string(argv[5]) == "sleep";
  int lines[2];
  require(::socketpair(AF_UNIX, SOCK_STREAM, 0, lines) == 0, "socketpair");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(lines[0]);
    Side side(argv[3], argv[4], lines[1], sleeps);
    return pong(side);
  }
  ::close(lines[1]);
  Side side(argv[1], argv[2], lines[0], sleeps);
  const int code = ping(side);
  int status = 0;
  ::waitpid(child, &status, 0);
  return code != 0 ? code : WEXITSTATUS(status);
}
