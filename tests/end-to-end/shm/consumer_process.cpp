// SPDX-License-Identifier: Apache-2.0
// A consumer that follows commands on standard input, a line each, and answers with one line:
//   consumer_process NAME GROUP all|one|skip DEPTH
//   next       takes a timeslice and keeps it: "INDEX COMPUTE FLAGS SUM INODE", or "ended"
//   release I  gives timeslice I back: "released"
//   take N     takes and releases N: their indices
//   byte I C O a byte of component C of the kept timeslice I, as it is now
//   counts     "TIMESLICES REPEATED MISSED"
//   leave      detaches and ends
// Anything that goes wrong: "error: …".
#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>

#include "weft/consumer.hpp"

namespace {

using weft::SharedTimeslice;

// Inode of the file that is mapped at `address`, 0 for none: shows whose memory it is.
unsigned long inode_at(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long start = 0, end = 0, inode = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %*s %*s %lu", &start, &end, &inode) == 3 &&
        wanted >= start && wanted < end) {
      return inode;
    }
  }
  return 0;
}

std::string describe(const SharedTimeslice& t) {
  unsigned long sum = 0;
  for (const auto& c : t->components) {
    for (const std::byte b : c.data) sum = sum * 31 + static_cast<unsigned long>(b);
  }
  const auto& first = t->components[0].data;
  return fmt::format("{} {} {} {} {}", t->index.value(), t.compute(), t->flags, sum,
                     first.empty() ? 0 : inode_at(first.data()));
}

class Commands {
 public:
  explicit Commands(weft::Consumer consumer) : consumer_(std::move(consumer)) {}

  std::string run(std::istringstream& line) {
    std::string command;
    line >> command;
    if (command == "next") return next();
    if (command == "release") return release(line);
    if (command == "take") return take(line);
    if (command == "byte") return byte(line);
    if (command == "counts") {
      const auto c = consumer_.counts();
      return fmt::format("{} {} {}", c.timeslices, c.repeated, c.missed);
    }
    return "error: unknown command";
  }

 private:
  std::string next() {
    auto t = consumer_.next(weft::Duration::max());
    if (!t) return "error: " + t.error().message;
    if (!t->has_value()) return consumer_.ended() ? "ended" : "error: nothing";
    const std::string text = describe(**t);
    kept_.emplace((**t)->index.value(), std::move(**t));
    return text;
  }
  std::string release(std::istringstream& line) {
    std::uint64_t index = 0;
    line >> index;
    return kept_.erase(index) == 1 ? "released" : "error: not kept";
  }
  std::string take(std::istringstream& line) {
    int count = 0;
    line >> count;
    std::string indices;
    for (int i = 0; i < count; ++i) {
      auto t = consumer_.next(weft::Duration::max());
      if (!t) return "error: " + t.error().message;
      if (!t->has_value()) return indices + "ended";
      indices += fmt::format("{} ", (**t)->index.value());
    }
    return indices;
  }
  std::string byte(std::istringstream& line) {
    std::uint64_t index = 0;
    std::size_t component = 0, offset = 0;
    line >> index >> component >> offset;
    const auto t = kept_.find(index);
    if (t == kept_.end()) return "error: not kept";
    return std::to_string(static_cast<int>(t->second->components[component].data[offset]));
  }

  weft::Consumer consumer_;
  std::map<std::uint64_t, SharedTimeslice> kept_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  weft::ConsumerOptions options;
  options.policy = std::strcmp(argv[3], "one") == 0    ? weft::GroupPolicy::one
                   : std::strcmp(argv[3], "skip") == 0 ? weft::GroupPolicy::skip
                                                       : weft::GroupPolicy::all;
  options.depth = static_cast<std::uint32_t>(std::stoul(argv[4]));
  options.wait = weft::Duration::seconds(30);
  auto consumer = weft::Consumer::attach(argv[1], argv[2], options);
  if (!consumer) {
    std::cout << "error: " << consumer.error().message << std::endl;
    return 1;
  }
  Commands commands(std::move(*consumer));
  std::cout << "attached" << std::endl;
  for (std::string text; std::getline(std::cin, text) && text != "leave";) {
    std::istringstream line(text);
    std::cout << commands.run(line) << std::endl;
  }
}
