// SPDX-License-Identifier: Apache-2.0
#include "mpi/abi/openmpi/fortran.hpp"

int mpi_fortran_bottom_;
int mpi_fortran_in_place_;
double mpi_fortran_status_ignore_;
double mpi_fortran_statuses_ignore_;
int mpi_fortran_errcodes_ignore_;
int mpi_fortran_unweighted_;
int mpi_fortran_weights_empty_;
char mpi_fortran_argv_null_;
char mpi_fortran_argvs_null_;
