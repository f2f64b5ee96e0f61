// SPDX-License-Identifier: Apache-2.0
// SPMD containers: arrays that are divided among the processes of a group, and redistributed by a
// call that moves only the elements that have to move (Kurtz 2018, and LAIK). Start with
// docs/spmd.md.
#pragma once

#include "weft/spmd/checkpoint.hpp"
#include "weft/spmd/container.hpp"
#include "weft/spmd/group.hpp"
#include "weft/spmd/partitioning.hpp"
#include "weft/spmd/reduction.hpp"
#include "weft/spmd/space.hpp"
#include "weft/spmd/view.hpp"
