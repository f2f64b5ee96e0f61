// SPDX-License-Identifier: Apache-2.0
// SPMD containers: arrays that are divided among the processes of a group, and divided anew by a
// call that moves what has to move (paper 4 and LAIK, for which it was made). docs/spmd.md is the
// way in.
#pragma once

#include "weft/spmd/checkpoint.hpp"
#include "weft/spmd/container.hpp"
#include "weft/spmd/group.hpp"
#include "weft/spmd/partitioning.hpp"
#include "weft/spmd/reduction.hpp"
#include "weft/spmd/space.hpp"
#include "weft/spmd/view.hpp"
