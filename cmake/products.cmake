# SPDX-License-Identifier: Apache-2.0
# products: the target that `./run` builds. It holds all that `cmake --install` copies and README's
# commands use, and neither tests nor benchmarks.
get_property(weft_examples DIRECTORY ${CMAKE_SOURCE_DIR}/examples PROPERTY BUILDSYSTEM_TARGETS)
get_property(weft_spmd_examples DIRECTORY ${CMAKE_SOURCE_DIR}/examples/spmd
  PROPERTY BUILDSYSTEM_TARGETS)
add_custom_target(products DEPENDS weft weft_lib weft_generated weft_mpi weft_fabric_openmpi
  weft_fabric_mpich weft_record_openmpi weft_record_mpich weft_clocks weft_emulate ${weft_examples} ${weft_spmd_examples})
if(TARGET weft_mpich)
  add_dependencies(products weft_mpich_fortran weft_openmpi_fortran)
endif()
