// SPDX-License-Identifier: Apache-2.0
// The process of an emulated run that a module lives in: its block and its record. Several modules
// may live in one process; the first one that is preloaded (UCX) knows when MPI begins and ends.
#pragma once

#include "emulate/control/control_block.hpp"

namespace weft::emulate {

struct EmulatedProcess {
  ControlBlock* block;    ///< nullptr: weft did not start the process
  ProcessRecord* record;  ///< nullptr: there is nothing to do here
  unsigned rank;
  bool is_alone;  ///< no other module has enrolled the process, and tells when it ends

  /// Takes a record for the process. Without a free one, `record` stays nullptr.
  void enrol();
  /// The same, or takes the record by which the module for UCX has enrolled the process.
  void enrol_beside();
  /// Marks the process as interposed by the module of that name, and as running unless another
  /// module tells when its MPI begins.
  void note_interposed(const char* interposer);
  void note_running();
  void note_finished();
  /// At the end of the process: notes that it finished, unless another module does. A child of a
  /// fork is not the process of the record.
  void note_exit();

 private:
  void take(ProcessRecord* taken);
};

}  // namespace weft::emulate
