! SPDX-License-Identifier: Apache-2.0
! The module of `use mpi` above the standard's ABI: what mpif.h has. Functions have no interfaces, since
! most of them take arrays of any type.
module mpi
  implicit none
  include 'mpif.h'
end module
