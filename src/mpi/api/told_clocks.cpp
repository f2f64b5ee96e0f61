// SPDX-License-Identifier: Apache-2.0
// The C library's clocks of a program that may be started anew, where their module is loaded.
#include "mpi/object/told_clocks.hpp"

#include <dlfcn.h>

#include <optional>

#include "mpi/api/library.hpp"
#include "mpi/api/told_clocks.hpp"

namespace weft::mpi {
namespace {

std::optional<ToldClocks> told_clocks;
thread_local bool is_their_thread = false;

/// weft itself and its fabrics read clocks, too, as often as it happens.
std::int64_t tell(clocks::Clock clock, std::int64_t now) {
  if (!is_their_thread || Held::is_in_call() || !told_clocks) return now;
  const Held held;
  return told_clocks->tell(clock, now);
}

void set_teller(clocks::Teller teller) {
  void* const set = ::dlsym(RTLD_DEFAULT, clocks::set_teller);
  if (set != nullptr) reinterpret_cast<clocks::SetTeller*>(set)(teller);
}

}  // namespace

void tell_clocks(Questions& questions) {
  told_clocks.emplace(questions);
  is_their_thread = true;
  set_teller(tell);
}

namespace {

/// A program may print a time as the last thing that it does, or unload this library.
[[gnu::destructor]] void stop_telling_clocks() {
  if (told_clocks) set_teller(nullptr);
}

}  // namespace

}  // namespace weft::mpi
