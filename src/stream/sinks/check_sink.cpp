// SPDX-License-Identifier: Apache-2.0
#include "stream/sinks/check_sink.hpp"

#include <fmt/format.h>

#include "base/crc32c.hpp"
#include "stream/sinks/counting.hpp"
#include "stream/sources/pattern.hpp"

namespace weft {

void CheckSink::report(const TimesliceView& timeslice, std::string what) {
  count_error(summary_, fmt::format("timeslice {}: {}", timeslice.index.value(), what));
}

Result<void> CheckSink::consume(const TimesliceView& timeslice) {
  count_timeslice(summary_, timeslice);
  check_order(timeslice);
  if (timeslice.components.size() != place_.inputs) {
    report(timeslice,
           fmt::format("{} components instead of {}", timeslice.components.size(), place_.inputs));
  }
  if (timeslice.num_core_microslices != place_.microslices_per_timeslice) {
    report(timeslice,
           fmt::format("{} core microslices instead of {}", timeslice.num_core_microslices,
                       place_.microslices_per_timeslice));
  }
  for (std::uint32_t c = 0; c < timeslice.components.size(); ++c) check_component(timeslice, c);
  return {};
}

void CheckSink::check_order(const TimesliceView& timeslice) {
  const auto answer = seen_.see(timeslice.index.value());
  if (answer == SeenWindow::Answer::fresh) return;
  if ((timeslice.flags & bit(TimesliceFlag::repeated)) != 0) return;
  report(timeslice, answer == SeenWindow::Answer::seen
                        ? "delivered twice and not flagged as repeated"
                        : "comes more than a million timeslices after its time");
}

void CheckSink::check_component(const TimesliceView& timeslice, std::uint32_t channel) {
  const ComponentView& component = timeslice.components[channel];
  constexpr std::uint32_t inherited = bit(TimesliceFlag::missing_microslices) |
                                      bit(TimesliceFlag::missing_components) |
                                      bit(TimesliceFlag::missing_subtimeslices);
  if ((component.flags & inherited & ~timeslice.flags) != 0) {
    report(timeslice, fmt::format("flags {:#x} of component {} are not in the timeslice's {:#x}",
                                  component.flags, channel, timeslice.flags));
  }
  if ((component.flags & bit(TimesliceFlag::missing_components)) != 0) {
    if (component.num_microslices == 0 && component.data.empty()) return;
    return report(timeslice, fmt::format("component {} is flagged missing and has {} bytes",
                                         channel, component.data.size()));
  }
  const bool flagged_short = (component.flags & bit(TimesliceFlag::missing_microslices)) != 0;
  if (component.num_microslices < timeslice.num_core_microslices && !flagged_short) {
    report(timeslice,
           fmt::format("component {} has {} of {} microslices and does not say so", channel,
                       component.num_microslices, timeslice.num_core_microslices));
  }
  const auto reader = wire::ComponentReader::open(component.data, component.num_microslices);
  if (!reader) {
    return report(timeslice, fmt::format("component {}: {}", channel, reader.error().message));
  }
  for (std::uint64_t m = 0; m < reader->num_microslices(); ++m) {
    check_microslice(timeslice, channel, m, reader->microslice(m));
  }
}

void CheckSink::check_microslice(const TimesliceView& timeslice, std::uint32_t channel,
                                 std::uint64_t m, const wire::MicrosliceView& microslice) {
  const auto wrong = [&](std::string_view what) {
    report(timeslice, fmt::format("component {}, microslice {}: {}", channel, m, what));
  };
  const MicrosliceDescriptor& d = microslice.descriptor;
  if (d.header_id != 0xDD || d.header_version != 1) {
    return wrong(fmt::format("descriptor starts with {:#04x} {:#04x} instead of 0xdd 0x01",
                             d.header_id, d.header_version));
  }
  if ((d.flags & bit(MicrosliceFlag::crc_valid)) != 0) {
    const std::uint32_t crc = crc32c(microslice.content);
    if (crc != d.crc) {
      wrong(fmt::format("CRC-32C {:#010x} of the content, {:#010x} in its descriptor", crc,
                        std::uint32_t{d.crc}));
    }
  }
  const bool pattern = d.system_id == system_pattern || is_pattern(microslice.content);
  if (!pattern && !patterns_) return;
  patterns_ = true;
  const std::uint64_t per_timeslice = place_.microslices_per_timeslice;
  const std::uint64_t sequence = timeslice.index.value() * per_timeslice + m;
  const auto verified = verify_pattern({.seed = place_.seed,
                                        .timeslice = sequence / per_timeslice,
                                        .sequence = sequence,
                                        .channel = channel},
                                       microslice.content);
  if (!verified) wrong(verified.error().message);
  if (m == 0 && d.index != timeslice.start_time) {
    wrong(fmt::format("starts at {} ns, its timeslice at {} ns", std::uint64_t{d.index},
                      timeslice.start_time));
  }
}

}  // namespace weft
