// SPDX-License-Identifier: Apache-2.0
#include "core/collective/collective.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <numeric>

#include "core/collective/plan_model_for_test.hpp"

namespace weft::collective {
namespace {

/// x → scale · x + shift. Composing them is associative and does not commute.
struct Affine {
  std::uint64_t scale = 1;
  std::uint64_t shift = 0;
};

Affine compose(const Affine& left, const Affine& right) {
  return {left.scale * right.scale, left.scale * right.shift + left.shift};
}

void fold_affine(const std::byte* left, const std::byte* right, std::byte* result,
                 std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; i += sizeof(Affine)) {
    Affine a;
    Affine b;
    std::memcpy(&a, left + i, sizeof a);
    std::memcpy(&b, right + i, sizeof b);
    a = compose(a, b);
    std::memcpy(result + i, &a, sizeof a);
  }
}

/// Floating-point sums: another grouping gives other bits.
void fold_double(const std::byte* left, const std::byte* right, std::byte* result,
                 std::uint64_t bytes) {
  for (std::uint64_t i = 0; i < bytes; i += sizeof(double)) {
    double a = 0;
    double b = 0;
    std::memcpy(&a, left + i, sizeof a);
    std::memcpy(&b, right + i, sizeof b);
    a += b;
    std::memcpy(result + i, &a, sizeof a);
  }
}

using Bytes = std::vector<std::byte>;

/// The elements that member `rank` has for member `peer` (or for all).
Bytes make_affine(std::uint32_t rank, std::uint32_t peer, std::uint64_t elements) {
  Bytes bytes(elements * sizeof(Affine));
  for (std::uint64_t i = 0; i < elements; ++i) {
    const Affine value{2 * rank + 3 + i, 1000 * peer + 7 * i + rank};
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

Bytes make_double(std::uint32_t rank, std::uint32_t, std::uint64_t elements) {
  Bytes bytes(elements * sizeof(double));
  for (std::uint64_t i = 0; i < elements; ++i) {
    const double value =
        1.0 / (3.0 + rank * 7.0 + static_cast<double>(i)) * (rank % 2 == 0 ? 1e10 : -1.0);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

Bytes concatenate(const std::vector<Bytes>& parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// One collective of a whole group, with the input and the expected output of each member.
struct Case {
  Request request;
  std::uint64_t elements = 1;
  std::uint64_t element_bytes = sizeof(Affine);
  Bytes (*make)(std::uint32_t, std::uint32_t, std::uint64_t) = make_affine;
  Fold fold = fold_affine;

  std::uint64_t bytes() const { return elements * element_bytes; }
  Bytes of(std::uint32_t rank, std::uint32_t peer = 0) const { return make(rank, peer, elements); }
  /// Of members [0, end), from the first to the last; `peer`'s block of each.
  Bytes folded(std::uint32_t end, std::uint32_t peer = 0) const {
    Bytes result = of(0, peer);
    for (std::uint32_t i = 1; i < end; ++i) {
      fold(result.data(), of(i, peer).data(), result.data(), result.size());
    }
    return result;
  }
  Bytes blocks_from_all(std::uint32_t peer) const {
    std::vector<Bytes> parts;
    for (std::uint32_t i = 0; i < request.members; ++i) parts.push_back(of(i, peer));
    return concatenate(parts);
  }
  Bytes blocks_for_all(std::uint32_t rank) const {
    std::vector<Bytes> parts;
    for (std::uint32_t i = 0; i < request.members; ++i) parts.push_back(of(rank, i));
    return concatenate(parts);
  }
};

Bytes input_of(const Case& c, std::uint32_t rank) {
  switch (c.request.operation) {
    case Operation::barrier:
    case Operation::broadcast:
      return {};
    case Operation::scatter:
      return rank == c.request.root ? c.blocks_for_all(rank) : Bytes{};
    case Operation::alltoall:
    case Operation::reduce_scatter:
      return c.blocks_for_all(rank);
    default:
      return c.of(rank);
  }
}

std::uint64_t output_bytes(const Case& c, std::uint32_t rank) {
  switch (c.request.operation) {
    case Operation::barrier:
      return 0;
    case Operation::reduce:
      return rank == c.request.root ? c.bytes() : 0;
    case Operation::gather:
      return rank == c.request.root ? c.bytes() * c.request.members : 0;
    case Operation::allgather:
    case Operation::alltoall:
      return c.bytes() * c.request.members;
    default:
      return c.bytes();
  }
}

/// The output as it is before; with in_place, the input lies in it.
Bytes output_before(const Case& c, std::uint32_t rank) {
  Bytes output(output_bytes(c, rank), std::byte{0xDD});
  const Request& r = c.request;
  const bool is_source = r.operation == Operation::broadcast ? rank == r.root : r.in_place;
  if (!is_source || output.empty()) return output;
  const bool in_block = r.operation == Operation::gather || r.operation == Operation::allgather;
  const Bytes own = c.of(rank);
  std::copy(own.begin(), own.end(), output.begin() + (in_block ? rank * own.size() : 0));
  return output;
}

/// The expected output; empty if it does not matter.
Bytes expected_of(const Case& c, std::uint32_t rank) {
  const Request& r = c.request;
  switch (r.operation) {
    case Operation::barrier:
      return {};
    case Operation::broadcast:
      return c.of(r.root);
    case Operation::reduce:
      return rank == r.root ? c.folded(r.members) : Bytes{};
    case Operation::allreduce:
      return c.folded(r.members);
    case Operation::gather:
      return rank == r.root ? c.blocks_from_all(0) : Bytes{};
    case Operation::scatter:
      return c.of(r.root, rank);
    case Operation::allgather:
      return c.blocks_from_all(0);
    case Operation::alltoall:
      return c.blocks_from_all(rank);
    case Operation::reduce_scatter:
      return c.folded(r.members, rank);
    case Operation::scan:
      return c.folded(rank + 1);
    case Operation::exclusive_scan:
      return rank == 0 ? output_before(c, rank) : c.folded(rank);
  }
  return {};
}

std::size_t expect_right(Case c, Algorithm algorithm, std::uint64_t seed) {
  c.request.bytes = c.bytes();
  c.request.element_bytes = c.element_bytes;
  const bool in_blocks =
      c.request.operation == Operation::gather || c.request.operation == Operation::scatter ||
      c.request.operation == Operation::allgather || c.request.operation == Operation::alltoall ||
      c.request.operation == Operation::reduce_scatter;
  if (in_blocks) c.request.blocks = c.request.input_blocks = Blocks::uniform(c.bytes());
  PlanModel model(seed, c.fold);
  for (std::uint32_t i = 0; i < c.request.members; ++i) {
    Request request = c.request;
    request.rank = i;
    // Others than the root have no output for their input to lie in.
    const bool has_room = output_bytes(c, i) > 0;
    request.in_place = c.request.in_place && has_room;
    model.add(make_plan(request, algorithm), request.in_place ? Bytes{} : input_of(c, i),
              output_before(c, i));
  }
  const std::string label =
      fmt::format("{} by {} among {}, root {}, {} elements, {}, {}, seed {}",
                  name_of(c.request.operation), name_of(algorithm), c.request.members,
                  c.request.root, c.elements, c.request.may_regroup ? "any grouping" : "in order",
                  c.request.in_place ? "in place" : "apart", seed);
  EXPECT_EQ(model.run(), "") << label;
  const bool same_for_all = c.request.operation == Operation::allreduce ||
                            c.request.operation == Operation::allgather ||
                            c.request.operation == Operation::broadcast;
  Bytes expected;
  for (std::uint32_t i = 0; i < c.request.members; ++i) {
    if (i == 0 || !same_for_all) expected = expected_of(c, i);
    if (expected.empty() && c.request.operation != Operation::barrier) continue;
    EXPECT_TRUE(model.output(i) == expected) << "output of " << i << ": " << label;
    if (testing::Test::HasFailure()) break;
  }
  return model.messages();
}

bool has_root(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce ||
         operation == Operation::gather || operation == Operation::scatter;
}
bool can_be_in_place(Operation operation) {
  return operation == Operation::reduce || operation == Operation::allreduce ||
         operation == Operation::gather || operation == Operation::allgather ||
         operation == Operation::scan || operation == Operation::exclusive_scan;
}
void expect_all_algorithms(Case c, std::uint64_t seed) {
  for (const Algorithm algorithm : algorithms_of(c.request)) {
    expect_right(c, algorithm, seed);
    if (testing::Test::HasFailure()) return;
  }
}

class collectives : public testing::TestWithParam<Operation> {};
class folding_collectives : public testing::TestWithParam<Operation> {};

TEST_P(collectives, of_up_to_70_members_are_right_by_every_algorithm) {
  for (std::uint32_t members = 1; members <= 70; ++members) {
    // Every group size to 34, since the largest take the most time, and those round the next power.
    if (members > 34 && members != 70 && (members < 63 || members > 65)) continue;
    for (const std::uint32_t root : {0U, members / 2, members - 1}) {
      if (!has_root(GetParam()) && root != 0) continue;
      // All combinations of options with the smaller groups.
      if (members > 20 && root != 0 && root != members / 2) continue;
      for (const bool in_place : {false, true}) {
        if (in_place && !can_be_in_place(GetParam())) continue;
        if (members > 20 && can_be_in_place(GetParam()) && in_place == (members % 2 == 0)) continue;
        Case c;
        c.request = {.operation = GetParam(), .members = members, .root = root};
        c.request.in_place = in_place;
        c.elements = members % 5 + 1;
        expect_all_algorithms(c, members);
        ASSERT_FALSE(HasFailure());
      }
    }
  }
}

TEST_P(folding_collectives, fold_from_the_first_member_to_the_last_where_grouping_matters) {
  for (const std::uint32_t members : {1U, 2U, 3U, 5U, 8U, 13U, 32U, 70U}) {
    Case c;
    c.request = {.operation = GetParam(), .members = members, .root = members / 3};
    c.request.may_regroup = false;
    c.element_bytes = sizeof(double);
    c.make = make_double;
    c.fold = fold_double;
    c.elements = 3;
    expect_all_algorithms(c, members);
    ASSERT_FALSE(HasFailure());
  }
}

TEST_P(collectives, of_long_vectors_are_right_by_every_algorithm) {
  for (const std::uint32_t members : {2U, 3U, 7U, 8U}) {
    for (const bool in_place : {false, true}) {
      if (in_place && !can_be_in_place(GetParam())) continue;
      Case c;
      c.request = {.operation = GetParam(), .members = members, .root = 1};
      c.request.in_place = in_place;
      c.elements = 25'001;  // 400 kB: seven segments
      expect_all_algorithms(c, members);
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_P(collectives, without_bytes_send_nothing_but_a_barrier_does) {
  Case c;
  c.request = {.operation = GetParam(), .members = 5};
  c.elements = 0;
  for (const Algorithm algorithm : algorithms_of(c.request)) {
    const bool is_barrier = GetParam() == Operation::barrier;
    EXPECT_EQ(expect_right(c, algorithm, 1), is_barrier ? 15U : 0U);
  }
}

TEST_P(collectives, choose_an_algorithm_that_fits_and_all_members_alike) {
  for (const std::uint32_t members : {1U, 2U, 7U, 8U, 9U, 64U, 1000U}) {
    for (const std::uint64_t bytes : {0ULL, 8ULL, 4096ULL, 1ULL << 17, 1ULL << 30}) {
      for (const bool may_regroup : {false, true}) {
        Request request{.operation = GetParam(), .members = members, .bytes = bytes};
        request.blocks = request.input_blocks = Blocks::uniform(bytes);
        request.may_regroup = may_regroup;
        const auto fitting = algorithms_of(request);
        const Algorithm chosen = choose(request);
        EXPECT_NE(std::find(fitting.begin(), fitting.end(), chosen), fitting.end())
            << members << " members, " << bytes << " bytes: " << name_of(chosen);
        request.rank = members - 1;
        EXPECT_EQ(choose(request), chosen);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(all, collectives,
                         testing::Values(Operation::barrier, Operation::broadcast,
                                         Operation::reduce, Operation::allreduce, Operation::gather,
                                         Operation::scatter, Operation::allgather,
                                         Operation::alltoall, Operation::reduce_scatter,
                                         Operation::scan, Operation::exclusive_scan),
                         [](const auto& info) { return std::string(name_of(info.param)); });

INSTANTIATE_TEST_SUITE_P(all, folding_collectives,
                         testing::Values(Operation::reduce, Operation::allreduce,
                                         Operation::reduce_scatter, Operation::scan,
                                         Operation::exclusive_scan),
                         [](const auto& info) { return std::string(name_of(info.param)); });

/// Lists of blocks, some of them empty, not in order and with gaps.
struct Listed {
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint64_t> offsets;
  std::uint64_t end = 0;

  explicit Listed(const std::vector<std::uint64_t>& sizes) : bytes(sizes), offsets(sizes.size()) {
    for (std::size_t i = sizes.size(); i-- > 0;) {
      end += 3;
      offsets[i] = end;
      end += sizes[i];
    }
  }
  Blocks blocks() const { return Blocks::listed(bytes, offsets); }
};

/// The bytes that `from` sends to `to`, of a length that differs between pairs.
Bytes letter(std::uint32_t from, std::uint32_t to) {
  Bytes bytes((from * 7 + to * 3) % 5 * 8);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(from * 31 + to * 17 + i);
  }
  return bytes;
}

class listed_blocks : public testing::TestWithParam<std::uint32_t> {};

TEST_P(listed_blocks, go_from_all_to_all) {
  const std::uint32_t members = GetParam();
  for (const Algorithm algorithm : {Algorithm::linear, Algorithm::pairwise}) {
    PlanModel model(members, fold_affine);
    std::vector<Listed> outputs;
    std::vector<Listed> inputs;
    for (std::uint32_t i = 0; i < members; ++i) {
      std::vector<std::uint64_t> in;
      std::vector<std::uint64_t> out;
      for (std::uint32_t j = 0; j < members; ++j) {
        in.push_back(letter(i, j).size());
        out.push_back(letter(j, i).size());
      }
      inputs.emplace_back(in);
      outputs.emplace_back(out);
    }
    for (std::uint32_t i = 0; i < members; ++i) {
      Request r{.operation = Operation::alltoall, .members = members, .rank = i};
      r.input_blocks = inputs[i].blocks();
      r.blocks = outputs[i].blocks();
      Bytes input(inputs[i].end);
      for (std::uint32_t j = 0; j < members; ++j) {
        const Bytes bytes = letter(i, j);
        std::copy(bytes.begin(), bytes.end(), input.begin() + inputs[i].offsets[j]);
      }
      model.add(make_plan(r, algorithm), input, Bytes(outputs[i].end, std::byte{0xDD}));
    }
    ASSERT_EQ(model.run(), "");
    for (std::uint32_t i = 0; i < members; ++i) {
      Bytes expected(outputs[i].end, std::byte{0xDD});
      for (std::uint32_t j = 0; j < members; ++j) {
        const Bytes bytes = letter(j, i);
        std::copy(bytes.begin(), bytes.end(), expected.begin() + outputs[i].offsets[j]);
      }
      EXPECT_EQ(model.output(i), expected);
    }
  }
}

TEST_P(listed_blocks, are_gathered_where_only_the_root_knows_them) {
  const std::uint32_t members = GetParam();
  for (const Operation operation : {Operation::gather, Operation::allgather}) {
    std::vector<std::uint64_t> sizes;
    for (std::uint32_t i = 0; i < members; ++i) sizes.push_back(letter(i, 1).size());
    const Listed blocks(sizes);
    Bytes expected(blocks.end, std::byte{0xDD});
    for (std::uint32_t i = 0; i < members; ++i) {
      const Bytes bytes = letter(i, 1);
      std::copy(bytes.begin(), bytes.end(), expected.begin() + blocks.offsets[i]);
    }
    const bool to_all = operation == Operation::allgather;
    Request any{.operation = operation, .members = members};
    any.blocks = Blocks::listed({}, {});
    for (const Algorithm algorithm : algorithms_of(any)) {
      PlanModel model(members, fold_affine);
      for (std::uint32_t i = 0; i < members; ++i) {
        Request r{.operation = operation, .members = members, .rank = i, .bytes = sizes[i]};
        const bool knows = to_all || i == 0;
        r.blocks = knows ? blocks.blocks() : Blocks::listed({}, {});
        model.add(make_plan(r, algorithm), letter(i, 1),
                  Bytes(knows ? blocks.end : 0, std::byte{0xDD}));
      }
      ASSERT_EQ(model.run(), "") << name_of(algorithm);
      EXPECT_EQ(model.output(0), expected) << name_of(algorithm);
      const Bytes& last = model.output(members - 1);
      EXPECT_EQ(last, to_all || members == 1 ? expected : Bytes()) << name_of(algorithm);
    }
  }
}

TEST_P(listed_blocks, are_scattered_by_the_root_that_knows_them) {
  const std::uint32_t members = GetParam();
  const std::uint32_t root = members - 1;
  std::vector<std::uint64_t> sizes;
  for (std::uint32_t i = 0; i < members; ++i) sizes.push_back(letter(root, i).size());
  const Listed blocks(sizes);
  PlanModel model(members, fold_affine);
  for (std::uint32_t i = 0; i < members; ++i) {
    Request r{.operation = Operation::scatter, .members = members, .rank = i, .root = root};
    r.bytes = sizes[i];
    r.blocks = i == root ? blocks.blocks() : Blocks::listed({}, {});
    Bytes input(i == root ? blocks.end : 0);
    for (std::uint32_t j = 0; i == root && j < members; ++j) {
      const Bytes bytes = letter(root, j);
      std::copy(bytes.begin(), bytes.end(), input.begin() + blocks.offsets[j]);
    }
    model.add(make_plan(r, Algorithm::linear), input, Bytes(sizes[i], std::byte{0xDD}));
  }
  ASSERT_EQ(model.run(), "");
  for (std::uint32_t i = 0; i < members; ++i) EXPECT_EQ(model.output(i), letter(root, i));
}

INSTANTIATE_TEST_SUITE_P(sizes, listed_blocks, testing::Values(1U, 2U, 5U, 8U, 19U));

// Volumes by hand, p members and n bytes each.

std::size_t messages_of(Operation operation, Algorithm algorithm, std::uint32_t members,
                        std::uint64_t elements) {
  Case c;
  c.request = {.operation = operation, .members = members};
  c.elements = elements;
  return expect_right(c, algorithm, 7);
}

TEST(collective_messages, are_as_many_as_the_algorithms_say) {
  EXPECT_EQ(messages_of(Operation::barrier, Algorithm::dissemination, 16, 1), 16U * 4);
  EXPECT_EQ(messages_of(Operation::broadcast, Algorithm::binomial, 16, 1), 15U);
  EXPECT_EQ(messages_of(Operation::allreduce, Algorithm::recursive_doubling, 16, 1), 16U * 4);
  // Three guests hand over and get back; eight parties exchange in three steps.
  EXPECT_EQ(messages_of(Operation::allreduce, Algorithm::recursive_doubling, 11, 1), 8U * 3 + 6);
  EXPECT_EQ(messages_of(Operation::allreduce, Algorithm::rabenseifner, 16, 16), 16U * 8);
  EXPECT_EQ(messages_of(Operation::reduce, Algorithm::rabenseifner, 16, 16), 16U * 4 + 15);
  EXPECT_EQ(messages_of(Operation::allreduce, Algorithm::ring, 16, 1), 15U + 15U);
  EXPECT_EQ(messages_of(Operation::allgather, Algorithm::bruck, 16, 1), 16U * 4);
  EXPECT_EQ(messages_of(Operation::allgather, Algorithm::ring, 16, 1), 16U * 15);
  EXPECT_EQ(messages_of(Operation::alltoall, Algorithm::bruck, 16, 1), 16U * 4);
  EXPECT_EQ(messages_of(Operation::alltoall, Algorithm::pairwise, 16, 1), 16U * 15);
  EXPECT_EQ(messages_of(Operation::gather, Algorithm::binomial, 16, 1), 15U);
  EXPECT_EQ(messages_of(Operation::scan, Algorithm::recursive_doubling, 16, 1), 15U + 14 + 12 + 8);
}

std::uint64_t bytes_sent(const Request& request, Algorithm algorithm) {
  std::uint64_t sum = 0;
  for (const Step& step : make_plan(request, algorithm).steps) {
    if (step.kind == Step::Kind::send) sum += step.from.bytes;
  }
  return sum;
}

TEST(collective_bytes, by_rabenseifner_are_twice_all_but_one_part) {
  // Every member sends n/2 + n/4 + … in either half: 2 n (p − 1) / p.
  Request request{.operation = Operation::allreduce, .members = 16, .rank = 5, .bytes = 16 << 10};
  EXPECT_EQ(bytes_sent(request, Algorithm::rabenseifner), 2 * (16ULL << 10) * 15 / 16);
}

TEST(collective_bytes, of_a_reduction_by_rabenseifner_are_one_vector_but_the_root_s_part) {
  Request request{
      .operation = Operation::reduce, .members = 16, .rank = 5, .root = 5, .bytes = 16 << 10};
  EXPECT_EQ(bytes_sent(request, Algorithm::rabenseifner), 15 * 1024ULL);
  request.root = 6;
  EXPECT_EQ(bytes_sent(request, Algorithm::rabenseifner), 16 * 1024ULL);
}

TEST(collective_bytes, of_a_long_broadcast_are_sent_less_than_twice_by_its_root) {
  Request request{.operation = Operation::broadcast, .members = 16, .root = 0, .bytes = 16 << 10};
  // Down the tree 8 + 4 + 2 + 1 parts; the neighbour holds one of the 16 and lacks 15.
  EXPECT_EQ(bytes_sent(request, Algorithm::ring), (15 + 15) * 1024ULL);
}

}  // namespace
}  // namespace weft::collective
