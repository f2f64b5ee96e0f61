// SPDX-License-Identifier: Apache-2.0
// Padding (paper 3): bytes without meaning that take the transport's time ahead of the program's.
// Ahead of messages and writes go messages that the receiving module drops; ahead of a read, which
// takes its time on the way back, the same memory is read again, into the same place.
#include <string.h>

#include <algorithm>

#include "emulate/ucx/interface.hpp"

namespace weft::emulate::ucx {
namespace {

/// The one buffer that all padding is packed from.
constexpr std::size_t kBufferBytes = 64 * 1'024;
char buffer[kBufferBytes];

std::size_t pack(void* destination, void* argument) {
  const std::size_t bytes = *static_cast<const std::size_t*>(argument);
  ::memcpy(destination, buffer, bytes);
  return bytes;
}

void unpack(void* destination, const void* data, std::size_t bytes) {
  ::memcpy(destination, data, bytes);
}

ucs_status_t drop(void* /*argument*/, void* /*data*/, std::size_t /*length*/, unsigned /*flags*/) {
  return UCS_OK;
}

void note_paid(PaddingDebt& debt, std::size_t bytes) {
  debt.paid(bytes);
  process.record->count_padding(bytes);
}

}  // namespace

void prepare_padding(Interface& interface, const uct_iface_attr_t& attributes) {
  if ((attributes.cap.flags & UCT_IFACE_FLAG_AM_BCOPY) == 0) return;
  interface.padding_bytes = std::min(attributes.cap.am.max_bcopy, kBufferBytes);
  using SetHandler =
      ucs_status_t (*)(uct_iface_h, std::uint8_t, uct_am_callback_t, void*, std::uint32_t);
  reinterpret_cast<SetHandler>(real_function("uct_iface_set_am_handler"))(
      interface.handle, kPaddingId, drop, nullptr, 0);
}

ucs_status_t send_padding(Interface& interface, uct_ep_h handle, Endpoint& endpoint) {
  while (endpoint.debt.due() > 0 && interface.padding_bytes > 0) {
    std::size_t bytes = std::min<std::uint64_t>(endpoint.debt.due(), interface.padding_bytes);
    const ssize_t packed = interface.real.ep_am_bcopy(handle, kPaddingId, pack, &bytes, 0);
    if (packed < 0) return static_cast<ucs_status_t>(packed);
    note_paid(endpoint.debt, bytes);
  }
  return UCS_OK;
}

ucs_status_t pay_by_reads(Interface& interface, uct_ep_h handle, Endpoint& endpoint,
                          const Read& read) {
  uct_iov_t part = *read.iov;
  while (endpoint.reads_debt.due() > 0) {
    part.length = std::min<std::uint64_t>(endpoint.reads_debt.due(), read.iov->length);
    part.count = 1;
    const ucs_status_t status =
        interface.real.ep_get_zcopy(handle, &part, 1, read.address, read.key, nullptr);
    if (UCS_STATUS_IS_ERR(status)) return status;
    note_paid(endpoint.reads_debt, part.length);
  }
  return UCS_OK;
}

ucs_status_t pay_by_copied_reads(Interface& interface, uct_ep_h handle, Endpoint& endpoint,
                                 const CopiedRead& read) {
  while (endpoint.reads_debt.due() > 0 && read.bytes > 0) {
    const std::size_t bytes =
        std::min<std::uint64_t>({endpoint.reads_debt.due(), read.bytes, kBufferBytes});
    const ucs_status_t status =
        interface.real.ep_get_bcopy(handle, unpack, buffer, bytes, read.address, read.key, nullptr);
    if (UCS_STATUS_IS_ERR(status)) return status;
    note_paid(endpoint.reads_debt, bytes);
  }
  return UCS_OK;
}

}  // namespace weft::emulate::ucx
