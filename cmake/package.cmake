# SPDX-License-Identifier: Apache-2.0
# `cpack` in the build directory packs the files of `cmake --install` as two Debian packages: weft,
# and weft-mpi with the modules that are linked to an MPI, so that weft itself needs none.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME weft)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The weft developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "communication runtime for clusters, and a laboratory for it")
set(CPACK_PACKAGE_DESCRIPTION "weft moves data streams between many senders and many receivers, runs \
programs of many processes that survive the death of some of them, and tries both on real, shaped \
and simulated networks.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
# The libraries that its programs and modules were linked to, from their packages' own lists.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_NAME weft)
set(CPACK_DEBIAN_UNSPECIFIED_FILE_NAME DEB-DEFAULT)
# libfabric is opened while weft runs; programs of weft's users are compiled against libweft.
set(CPACK_DEBIAN_UNSPECIFIED_PACKAGE_RECOMMENDS "libfabric1, g++, pkg-config")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME weft-mpi)
set(CPACK_DEBIAN_MPI_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "weft (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_MPI_DESCRIPTION "weft: modules for programs that Open MPI or MPICH started")
include(CPack)
