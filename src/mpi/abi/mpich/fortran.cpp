// SPDX-License-Identifier: Apache-2.0
#include "mpi/abi/mpich/fortran.hpp"

int mpipriv1_[7];
int mpipriv2_[6];
char mpiprivc_[2];
int mpifcmb5_;
int mpifcmb9_;
