// SPDX-License-Identifier: Apache-2.0
// The promises of include/weft/fabric.hpp as one parameterised test suite, run against every
// implementation.
//
// To register an implementation, add a file beside this one (say mine.cpp):
//
//   #include "fabric_contract.hpp"
//   namespace weft::contract {
//   class MineFactory final : public FabricFactory { … open() … };
//   INSTANTIATE_TEST_SUITE_P(mine, FabricContract,
//                            ::testing::Values(implementation<MineFactory>("mine")),
//                            implementation_name);
//   }
//
// and in CMakeLists.txt: fabric_contract(mine DEPENDS weft_fabric_mine). That makes the program
// contract_mine_test. A new factory object is made for each test, so that it may own data that the
// endpoints of one test share (a hub, a secret). Values() takes several implementations, for
// example one per address family.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "weft/fabric.hpp"

namespace weft::contract {

/// Opens endpoints of the implementation under test, all in this process.
class FabricFactory {
 public:
  virtual ~FabricFactory() = default;
  /// An endpoint without peers. The suite connects endpoints with `add_peer(address())`, both ways.
  virtual Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) = 0;
  /// Ends an endpoint without any farewell, as SIGKILL would. Destroying it does that for most.
  virtual void kill(std::unique_ptr<Fabric> endpoint) { endpoint.reset(); }
  /// Returns whether `add_peer` of the endpoint itself and operations to it work.
  virtual bool reaches_itself() const { return false; }
  /// Returns whether a connection that was taken down by a bad write is made again, with the same
  /// incarnation, without another `add_peer`.
  virtual bool reconnects() const { return true; }
};

/// One line of INSTANTIATE_TEST_SUITE_P.
struct Implementation {
  std::string name;  ///< letters, digits and underscores
  std::function<std::unique_ptr<FabricFactory>()> make;
};

/// How a failing test names it.
inline void PrintTo(const Implementation& implementation, std::ostream* out) {
  *out << implementation.name;
}

/// An Implementation whose factory is a Factory made of `arguments`.
template <class Factory, class... Arguments>
Implementation implementation(std::string name, Arguments... arguments) {
  return {std::move(name), [arguments...] { return std::make_unique<Factory>(arguments...); }};
}

inline std::string implementation_name(const ::testing::TestParamInfo<Implementation>& info) {
  return info.param.name;
}

/// The suite. Its tests are in messages_test.cpp, writes_test.cpp, failures_test.cpp, …
class FabricContract : public ::testing::TestWithParam<Implementation> {
 protected:
  void SetUp() override { factory_ = GetParam().make(); }
  FabricFactory& factory() { return *factory_; }

 private:
  std::unique_ptr<FabricFactory> factory_;
};

}  // namespace weft::contract
