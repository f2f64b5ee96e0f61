// SPDX-License-Identifier: Apache-2.0
#include "runtime/manager/manager_session.hpp"

#include "runtime/manager/pmi1_session.hpp"
#include "runtime/manager/pmix_session.hpp"

namespace weft {

bool ManagerSession::offered() {
  return PmixSession::offered() || Pmi1Session::offered();
}

Result<std::unique_ptr<ManagerSession>> ManagerSession::open() {
  if (PmixSession::offered()) return PmixSession::open();
  if (Pmi1Session::offered()) return Pmi1Session::open();
  return Error{ErrorCode::unavailable, "no launcher started this process; use mpirun or srun"};
}

}  // namespace weft
