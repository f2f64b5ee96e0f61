// SPDX-License-Identifier: Apache-2.0
#include "forked_fabric.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "base/check.hpp"

namespace weft::contract {
namespace {

// The shared memory: free lists of powers of two over one mapping.
class SharedHeap {
 public:
  static constexpr std::size_t kSize = std::size_t{4} << 30;
  static constexpr std::size_t kSmallest = 512;

  // Never destroyed: blocks are freed by destructors of statics.
  static SharedHeap& instance() {
    alignas(SharedHeap) static std::byte storage[sizeof(SharedHeap)];
    static SharedHeap* heap = new (storage) SharedHeap;
    return *heap;
  }

  void* allocate(std::size_t size) {
    if (size < kSmallest || users_ == 0 || left_) return nullptr;
    const std::lock_guard lock(mutex_);
    const std::size_t index = index_of(size);
    if (free_[index] != nullptr) {
      Free* block = free_[index];
      free_[index] = block->next;
      return block;
    }
    const std::size_t block_size = std::size_t{1} << index;
    if (block_size > kSize - used_) return nullptr;
    void* block = base_ + used_;
    used_ += block_size;
    return block;
  }
  bool owns(const void* pointer) const {
    const auto* at = static_cast<const std::byte*>(pointer);
    return base_ != nullptr && at >= base_ && at < base_ + kSize;
  }
  void release(void* pointer, std::size_t size) {
    if (left_) return;
    const std::lock_guard lock(mutex_);
    Free*& list = free_[index_of(size)];
    list = new (pointer) Free{list};
  }
  // Blocks are shared while endpoints are there to share them with; the test framework's own memory
  // stays private.
  void add_user() {
    if (base_ == nullptr) map();
    ++users_;
  }
  void remove_user() { --users_; }

 private:
  struct Free {
    Free* next;
  };
  static std::size_t index_of(std::size_t size) {
    return static_cast<std::size_t>(std::bit_width(size - 1));
  }
  void map() {
    void* memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    base_ = static_cast<std::byte*>(memory);
    // A forked process, a death test's for one, leaves the blocks to the one that made it.
    ::pthread_atfork(nullptr, nullptr, [] { instance().left_ = true; });
  }

  std::mutex mutex_;
  std::byte* base_ = nullptr;
  std::size_t used_ = 0;
  std::array<Free*, 64> free_{};
  std::size_t users_ = 0;
  bool left_ = false;
};

SharedHeap& shared_heap() {
  return SharedHeap::instance();
}

// In front of each block: its size, and room to keep the alignment of max_align_t.
struct alignas(std::max_align_t) BlockHeader {
  std::size_t size;
};

}  // namespace
}  // namespace weft::contract

void* operator new(std::size_t size) {
  using namespace weft::contract;
  const std::size_t whole = size + sizeof(BlockHeader);
  void* block = shared_heap().allocate(whole);
  if (block == nullptr) block = std::malloc(whole);
  if (block == nullptr) throw std::bad_alloc();
  return new (block) BlockHeader{whole} + 1;
}

void operator delete(void* pointer) noexcept {
  using namespace weft::contract;
  if (pointer == nullptr) return;
  BlockHeader* header = static_cast<BlockHeader*>(pointer) - 1;
  if (shared_heap().owns(header)) {
    shared_heap().release(header, header->size);
  } else {
    std::free(header);
  }
}

void operator delete(void* pointer, std::size_t) noexcept {
  operator delete(pointer);
}

namespace weft::contract {
namespace {

enum class Call : std::uint8_t { add_peer, remove_peer, expose, retract, post, poll, wait, end };

constexpr std::size_t kMaxBatch = 256;
constexpr std::size_t kTextSize = 1024;

// Sends one byte and, when there is one, a descriptor.
void signal_with(int socket, int descriptor) {
  char byte = 1;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  (void)::sendmsg(socket, &message, MSG_NOSIGNAL);
}

// Waits for one byte; false when the other side is gone. `descriptor`, when one came, is ours.
bool await_signal(int socket, int& descriptor) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return false;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr) std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
  return true;
}

void put_text(std::array<char, kTextSize>& out, std::string_view text) {
  const std::size_t n = std::min(text.size(), out.size() - 1);
  std::memcpy(out.data(), text.data(), n);
  out[n] = '\0';
}

}  // namespace

// Arguments and results of the call under way, in shared memory.
struct ForkedFabric::Mailbox {
  Call call{};
  bool ok = false;
  ErrorCode code{};
  NodeId peer{};
  Incarnation incarnation{};
  Instant now{};
  std::array<char, kTextSize> text{};  // an address, or an error
  std::array<char, kTextSize> name{};
  FabricLimits limits;
  Region region;
  WaitHint hint;
  std::size_t count = 0;
  std::array<TxOp, kMaxBatch> ops{};
  std::array<Completion, kMaxBatch> completions{};
  std::array<std::byte, kMaxBatch * 65536> data{};
};

// The process with the endpoint.
class ForkedFabric::Server {
 public:
  Server(Fabric& fabric, Mailbox& mailbox) : fabric_(fabric), box_(mailbox) {}

  // Returns the descriptor to hand over, or −1; false in `more` ends.
  int serve(bool& more) {
    box_.ok = true;
    switch (box_.call) {
      case Call::add_peer:
        note(fabric_.add_peer(box_.peer, box_.incarnation, box_.text.data()));
        break;
      case Call::remove_peer:
        fabric_.remove_peer(box_.peer);
        break;
      case Call::expose: {
        auto region = fabric_.expose(box_.region.memory);
        if (region.ok()) box_.region = *region;
        if (!region.ok()) note(region.error());
        break;
      }
      case Call::retract:
        fabric_.retract(box_.region);
        break;
      case Call::post:
        box_.count = fabric_.post(std::span(box_.ops).first(box_.count));
        break;
      case Call::poll:
        poll();
        break;
      case Call::wait:
        box_.hint = fabric_.prepare_wait(box_.now);
        if (box_.hint.descriptor == handed_over_) break;
        return handed_over_ = box_.hint.descriptor;
      case Call::end:
        more = false;
        break;
    }
    return -1;
  }

 private:
  void note(const Result<void>& result) {
    if (result.ok()) return;
    box_.ok = false;
    box_.code = result.error().code;
    put_text(box_.text, result.error().message);
  }
  void poll() {
    box_.count = fabric_.poll(box_.now, std::span(box_.completions).first(box_.count));
    std::size_t used = 0;
    for (Completion& completion : std::span(box_.completions).first(box_.count)) {
      if (completion.data.empty()) continue;
      std::byte* at = box_.data.data() + used;
      std::memcpy(at, completion.data.data(), completion.data.size());
      used += completion.data.size();
      completion.data = {at, completion.data.size()};
    }
  }

  Fabric& fabric_;
  Mailbox& box_;
  int handed_over_ = -1;
};

Result<std::unique_ptr<Fabric>> ForkedFabric::open(const Open& open) {
  std::unique_ptr<ForkedFabric> proxy(new ForkedFabric);
  shared_heap().add_user();
  void* memory = ::mmap(nullptr, sizeof(Mailbox), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  WEFT_CHECK(memory != MAP_FAILED);
  Mailbox* mailbox = static_cast<Mailbox*>(memory);
  std::array<int, 2> pair{};
  WEFT_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) == 0);
  proxy->mailbox_ = mailbox;
  const pid_t parent = ::getpid();
  proxy->pid_ = ::fork();
  WEFT_CHECK(proxy->pid_ >= 0);
  if (proxy->pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    ::close(pair[0]);
    auto fabric = open();
    mailbox->ok = fabric.ok();
    put_text(mailbox->text, fabric.ok() ? (*fabric)->address() : fabric.error().message);
    int descriptor = -1;
    bool more = fabric.ok();
    if (more) {
      put_text(mailbox->name, (*fabric)->name());
      mailbox->limits = (*fabric)->limits();
      Server server(**fabric, *mailbox);
      signal_with(pair[1], -1);
      while (more && await_signal(pair[1], descriptor)) {
        const int handed = server.serve(more);
        if (!more) fabric->reset();
        signal_with(pair[1], handed);
      }
    } else {
      signal_with(pair[1], -1);
    }
    ::_exit(0);
  }
  ::close(pair[1]);
  proxy->socket_ = pair[0];
  int descriptor = -1;
  WEFT_CHECK(await_signal(proxy->socket_, descriptor), "the endpoint's process ended");
  if (!mailbox->ok) return Error{ErrorCode::io, mailbox->text.data()};
  proxy->address_ = mailbox->text.data();
  proxy->name_ = mailbox->name.data();
  proxy->limits_ = mailbox->limits;
  return std::unique_ptr<Fabric>(std::move(proxy));
}

ForkedFabric::~ForkedFabric() {
  if (pid_ > 0) {
    mailbox_->call = Call::end;
    signal_with(socket_, -1);
    int descriptor = -1;
    (void)await_signal(socket_, descriptor);
    ::waitpid(pid_, nullptr, 0);
  }
  if (socket_ >= 0) ::close(socket_);
  if (descriptor_ >= 0) ::close(descriptor_);
  if (mailbox_ != nullptr) ::munmap(mailbox_, sizeof(Mailbox));
  shared_heap().remove_user();
}

void ForkedFabric::kill() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void ForkedFabric::signal(int number) {
  ::kill(pid_, number);
}

void ForkedFabric::call() {
  signal_with(socket_, -1);
  int descriptor = -1;
  WEFT_CHECK(await_signal(socket_, descriptor), "the endpoint's process ended");
  if (descriptor < 0) return;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = descriptor;
  remote_descriptor_ = mailbox_->hint.descriptor;
}

Result<void> ForkedFabric::add_peer(NodeId peer, Incarnation incarnation,
                                    std::string_view address) {
  mailbox_->call = Call::add_peer;
  mailbox_->peer = peer;
  mailbox_->incarnation = incarnation;
  put_text(mailbox_->text, address);
  call();
  if (!mailbox_->ok) return Error{mailbox_->code, mailbox_->text.data()};
  return {};
}

void ForkedFabric::remove_peer(NodeId peer) {
  mailbox_->call = Call::remove_peer;
  mailbox_->peer = peer;
  call();
}

Result<Region> ForkedFabric::expose(std::span<std::byte> memory) {
  WEFT_CHECK(memory.empty() || shared_heap().owns(memory.data()),
             "{} bytes are too few to be shared", memory.size());
  mailbox_->call = Call::expose;
  mailbox_->region.memory = memory;
  call();
  if (!mailbox_->ok) return Error{mailbox_->code, mailbox_->text.data()};
  return mailbox_->region;
}

void ForkedFabric::retract(const Region& region) {
  mailbox_->call = Call::retract;
  mailbox_->region = region;
  call();
}

// Segments that the other process cannot see are copied.
void ForkedFabric::share_segments(TxOp& op, bool keep) {
  for (auto& segment : op.segments) {
    if (segment.empty() || shared_heap().owns(segment.data())) continue;
    std::vector<std::byte> copy;
    copy.reserve(std::max(segment.size(), SharedHeap::kSmallest));
    copy.assign(segment.begin(), segment.end());
    segment = copy;
    auto& owner = keep ? kept_[op.context] : passing_;
    owner.push_back(std::move(copy));
  }
}

void ForkedFabric::release(std::uint64_t context) {
  kept_.erase(context);
}

std::size_t ForkedFabric::post(std::span<const TxOp> ops) {
  const std::size_t count = std::min(ops.size(), kMaxBatch);
  for (std::size_t i = 0; i < count; ++i) {
    const TxOp& op = ops[i];
    const std::size_t limit = op.kind == OpKind::send ? limits_.max_message : limits_.max_write;
    WEFT_CHECK(op.size() <= limit);
    mailbox_->ops[i] = op;
    share_segments(mailbox_->ops[i], op.kind == OpKind::write);
  }
  mailbox_->call = Call::post;
  mailbox_->count = count;
  call();
  const std::size_t taken = mailbox_->count;
  for (std::size_t i = taken; i < count; ++i) release(ops[i].context);
  passing_.clear();
  return taken;
}

std::size_t ForkedFabric::poll(Instant now, std::span<Completion> completions) {
  mailbox_->call = Call::poll;
  mailbox_->now = now;
  mailbox_->count = std::min(completions.size(), kMaxBatch);
  call();
  for (std::size_t i = 0; i < mailbox_->count; ++i) {
    completions[i] = mailbox_->completions[i];
    const CompletionKind kind = completions[i].kind;
    if (kind == CompletionKind::written || kind == CompletionKind::failed) {
      release(completions[i].context);
    }
  }
  return mailbox_->count;
}

WaitHint ForkedFabric::prepare_wait(Instant now) {
  mailbox_->call = Call::wait;
  mailbox_->now = now;
  call();
  WaitHint hint = mailbox_->hint;
  if (hint.descriptor >= 0) {
    WEFT_CHECK(hint.descriptor == remote_descriptor_);
    hint.descriptor = descriptor_;
  }
  return hint;
}

}  // namespace weft::contract
