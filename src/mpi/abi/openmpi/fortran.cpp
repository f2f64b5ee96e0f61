// SPDX-License-Identifier: Apache-2.0
#include "mpi/abi/openmpi/fortran.hpp"

int mpi_fortran_bottom_;
int mpi_fortran_in_place_;
double mpi_fortran_status_ignore_;
double mpi_fortran_statuses_ignore_;
