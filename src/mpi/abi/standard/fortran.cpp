// SPDX-License-Identifier: Apache-2.0
#include "mpi/abi/standard/fortran_above.hpp"

int mpi_weft_bottom_;
int mpi_weft_in_place_;
int mpi_weft_status_ignore_[8];
int mpi_weft_statuses_ignore_[8];
int mpi_weft_errcodes_ignore_;
int mpi_weft_unweighted_;
int mpi_weft_weights_empty_;
char mpi_weft_argv_null_;
char mpi_weft_argvs_null_;
