// SPDX-License-Identifier: Apache-2.0
#include "emulate/control/emulated_process.hpp"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

namespace weft::emulate {

void EmulatedProcess::take(ProcessRecord* taken) {
  record = taken;
  if (record == nullptr) return;
  rank = record->rank >= 0 ? static_cast<unsigned>(record->rank)
                           : static_cast<unsigned>(record - block->process);
}

void EmulatedProcess::enrol() {
  if (record != nullptr || block == nullptr) return;
  take(block->enrol());
}

void EmulatedProcess::enrol_beside() {
  if (record != nullptr || block == nullptr) return;
  // The other module has the block mapped elsewhere.
  using EnrolledThere = void* (*)();
  const auto enrolled_there =
      reinterpret_cast<EnrolledThere>(::dlsym(RTLD_DEFAULT, "weft_emulate_record"));
  is_alone = enrolled_there == nullptr || enrolled_there() == nullptr;
  take(is_alone ? block->enrol() : block->record_of(static_cast<std::int32_t>(::getpid())));
}

void EmulatedProcess::note_interposed(const char* interposer) {
  ::strncpy(record->interposer, interposer, sizeof record->interposer - 1);
  record->stage.fetch_or(stage_interposed);
  if (!is_alone && is_mpi_program()) return;
  if ((record->stage.load() & stage_running) == 0) note_running();
}

void EmulatedProcess::note_running() {
  record->began.store(block->clock.now());
  record->stage.fetch_or(stage_running);
}

void EmulatedProcess::note_finished() {
  record->ended.store(block->clock.now());
  record->stage.fetch_or(stage_finished);
}

void EmulatedProcess::note_exit() {
  if (is_alone && record != nullptr && record->pid.load() == ::getpid()) note_finished();
}

}  // namespace weft::emulate
