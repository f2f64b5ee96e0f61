// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/admission.hpp"

namespace weft::tcp {
namespace {

constexpr Decision refuse(Verdict verdict) {
  return {Admission::refuse, verdict};
}
constexpr Decision accept(Admission admission) {
  return {admission, Verdict::accepted};
}

bool is_other(std::uint64_t process, std::uint64_t known) {
  return process != 0 && known != 0 && process != known;
}

Decision decide_resumption(const AdmissionView& view, const Hello& hello, bool ours_wins) {
  if (hello.session != view.session) return refuse(Verdict::not_resumable);
  if (view.has_connection) {
    return view.is_draining ? accept(Admission::defer) : refuse(Verdict::duplicate);
  }
  return accept(ours_wins ? Admission::defer : Admission::resume);
}

}  // namespace

Decision decide(const AdmissionView& view, const Hello& hello) {
  if (!view.is_known) return refuse(Verdict::unknown_peer);
  if (hello.incarnation < view.incarnation) return refuse(Verdict::stale);
  // Two processes took the same number: the clock says the same after it was set back.
  if (hello.incarnation == view.incarnation && is_other(hello.process, view.process)) {
    return refuse(Verdict::stale);
  }
  if (hello.incarnation > view.incarnation) {
    return hello.session == 0 ? accept(Admission::begin) : refuse(Verdict::not_resumable);
  }
  const bool ours_wins = view.is_attempting && view.self < hello.from;
  if (hello.session != 0) return decide_resumption(view, hello, ours_wins);
  if (view.session != 0) {
    // An initiator that gave up our session says so. One that does not has not heard of it yet: its
    // attempt crossed ours, and ours was first.
    return hello.ended_session == view.session ? accept(Admission::begin)
                                               : refuse(Verdict::duplicate);
  }
  return accept(ours_wins ? Admission::defer : Admission::begin);
}

}  // namespace weft::tcp
