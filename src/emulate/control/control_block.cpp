// SPDX-License-Identifier: Apache-2.0
#include "emulate/control/control_block.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace weft::emulate {
namespace {

std::uint64_t nanoseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// A moment on both clocks, read as close together as they come.
struct Moment {
  std::uint64_t ticks;
  std::uint64_t nanoseconds;
};
Moment moment() {
  Moment best{};
  std::uint64_t narrowest = ~std::uint64_t{0};
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t before = read_ticks();
    const std::uint64_t nanoseconds = nanoseconds_now();
    const std::uint64_t after = read_ticks();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    best = {before + narrowest / 2, nanoseconds};
  }
  return best;
}

std::int32_t number(const char* const* names, std::int32_t otherwise) {
  for (; *names != nullptr; ++names) {
    const char* text = std::getenv(*names);
    if (text == nullptr || *text == '\0') continue;
    char* end = nullptr;
    const long value = std::strtol(text, &end, 10);
    if (*end == '\0' && value >= 0 && value < 1'000'000) return static_cast<std::int32_t>(value);
  }
  return otherwise;
}

/// Takes the record of a process that was only loaded, has ended, and was of that rank: the record
/// of the next process of that rank tells the same. A rank may be a script of many short commands.
bool take_over(ProcessRecord& record, std::int32_t rank) {
  std::int32_t pid = record.pid.load();
  if (pid == 0 || record.rank != rank) return false;
  if ((record.stage.load() & ~(stage_loaded | stage_finished)) != 0) return false;
  if (::kill(pid, 0) == 0 || errno != ESRCH) return false;
  return record.pid.compare_exchange_strong(pid, 0);
}

}  // namespace

ProcessRecord* ControlBlock::enrol() {
  const RankHere here = rank_from_environment();
  ProcessRecord* record = nullptr;
  const std::uint32_t count = std::min(processes.load(), kMostProcesses);
  for (std::uint32_t i = 0; i < count && record == nullptr; ++i) {
    if (take_over(process[i], here.rank)) record = &process[i];
  }
  if (record == nullptr) {
    const std::uint32_t place = processes.fetch_add(1);
    if (place >= kMostProcesses) return nullptr;
    record = &process[place];
  }
  record->rank = here.rank;
  record->ranks = here.ranks;
  record->began.store(0);
  record->ended.store(0);
  record->stage.store(stage_loaded);
  record->pid.store(static_cast<std::int32_t>(::getpid()));
  return record;
}

ProcessRecord* ControlBlock::record_of(std::int32_t pid) {
  const std::uint32_t count = std::min(processes.load(), kMostProcesses);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (process[i].pid.load() == pid) return &process[i];
  }
  return nullptr;
}

StampRing* ControlBlock::ring_of(std::uint64_t key) {
  const auto ring = [&](unsigned i) { return &rings[(key + i) % kMostRings]; };
  for (unsigned i = 0; i < kMostRings; ++i) {
    if (ring(i)->key.load() == key) return ring(i);
  }
  for (unsigned i = 0; i < kMostRings; ++i) {
    std::uint64_t there = 0;
    if (ring(i)->key.compare_exchange_strong(there, key) || there == key) return ring(i);
  }
  return nullptr;
}

void ControlBlock::publish_address(std::uint64_t hash, unsigned rank) {
  for (unsigned i = 0; i < kMostProcesses; ++i) {
    AddressOfRank& address = addresses[(hash + i) % kMostProcesses];
    std::uint64_t there = 0;
    if (!address.hash.compare_exchange_strong(there, hash) && there != hash) continue;
    address.rank_and_one.store(rank + 1, std::memory_order_release);
    return;
  }
}

unsigned ControlBlock::rank_at_address(std::uint64_t hash) const {
  for (unsigned i = 0; i < kMostProcesses; ++i) {
    const AddressOfRank& address = addresses[(hash + i) % kMostProcesses];
    const std::uint64_t there = address.hash.load(std::memory_order_acquire);
    if (there == 0) break;
    if (there != hash) continue;
    const std::uint32_t rank = address.rank_and_one.load(std::memory_order_acquire);
    return rank == 0 ? kMostRanks : rank - 1;
  }
  return kMostRanks;
}

Plan plan_message(ControlBlock& block, unsigned from, unsigned to, Picoseconds ready,
                  std::uint64_t bytes) {
  const std::uint64_t rate = block.knobs.rate.load(std::memory_order_relaxed);
  Plan plan{ready, block.knobs.latency.load(std::memory_order_relaxed)};
  const auto pass = [&](unsigned link, std::uint64_t link_rate) {
    if (bytes == 0) return;
    const Passage passage = block.links[link].send(ready, bytes, link_rate);
    plan.departure = std::max(plan.departure, passage.departure);
  };
  if (from < block.pair_count && to < block.pair_count) {
    const Path& path = block.paths[from * block.pair_count + to];
    plan.latency += path.latency;
    for (unsigned i = 0; i < std::min<unsigned>(path.hops, kMostHops); ++i) {
      const unsigned link = path.links[i] % kMostLinks;
      pass(link, block.link_rates[link]);
    }
  } else if (rate != 0 && from < kMostRanks && to < kMostRanks) {
    pass(2 * from, rate);
    pass(2 * to + 1, rate);
  }
  return plan;
}

unsigned links_between(const ControlBlock& block, unsigned from, unsigned to) {
  if (from < block.pair_count && to < block.pair_count) {
    const Path& path = block.paths[from * block.pair_count + to];
    const unsigned hops = std::min<unsigned>(path.hops, kMostHops);
    return static_cast<unsigned>(std::count_if(path.links, path.links + hops, [&](unsigned link) {
      return block.link_rates[link % kMostLinks] != 0;
    }));
  }
  const bool has_links = block.knobs.rate.load(std::memory_order_relaxed) != 0;
  return has_links && from < kMostRanks && to < kMostRanks ? 2 : 0;
}

ControlBlock* attach_block(const char* path) {
  if (path == nullptr || *path == '\0') return nullptr;
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat status {};
  void* memory = MAP_FAILED;
  if (::fstat(file, &status) == 0 && status.st_size == sizeof(ControlBlock)) {
    memory = ::mmap(nullptr, sizeof(ControlBlock), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  ::close(file);
  if (memory == MAP_FAILED) return nullptr;
  auto* block = static_cast<ControlBlock*>(memory);
  if (block->magic == kBlockMagic) return block;
  ::munmap(memory, sizeof(ControlBlock));
  return nullptr;
}

RankHere rank_from_environment() {
  // Within a job of Slurm all that `weft run` starts have the rank of its script: that is last.
  static const char* const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",     "PMIX_RANK",
                                      "WEFT_LAUNCHED_RANK",   "SLURM_PROCID", nullptr};
  static const char* const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", nullptr};
  return {number(ranks, -1), number(sizes, 0)};
}

bool is_mpi_program() {
  return ::dlsym(RTLD_DEFAULT, "PMPI_Comm_rank") != nullptr;
}

Clock measure_clock(std::uint64_t nanoseconds) {
  const Moment first = moment();
  while (nanoseconds_now() - first.nanoseconds < nanoseconds) {
  }
  const Moment last = moment();
  const double ps_per_tick = static_cast<double>(last.nanoseconds - first.nanoseconds) * 1e3 /
                             static_cast<double>(last.ticks - first.ticks);
  return {last.ticks, static_cast<std::uint64_t>(ps_per_tick * 4294967296.0)};
}

}  // namespace weft::emulate
