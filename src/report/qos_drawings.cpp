// SPDX-License-Identifier: Apache-2.0
// Drawings of a network, whose links are coloured by their load of each service level.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

#include "report/html.hpp"
#include "report/network_drawing.hpp"
#include "report/page_parts.hpp"
#include "report/qos_page.hpp"

namespace weft::report {
namespace {

constexpr double drawing_width = 640;
constexpr double row_height = 120;
constexpr double margin = 18;
constexpr double apart = 2.2;  // the two directions of a cable

struct Place {
  double x = 0, y = 0;
};

/// Grey where nothing goes, by way of yellow to red where a link is full.
std::string colour_of(double load) {
  constexpr std::array<std::array<double, 3>, 3> stops = {
      {{0xd4, 0xd4, 0xd8}, {0xf5, 0x9e, 0x0b}, {0xb9, 0x1c, 0x1c}}};
  const double at = std::clamp(load, 0.0, 1.0) * 2;
  const std::size_t from = at < 1 ? 0 : 1;
  std::array<int, 3> rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double part = at - static_cast<double>(from);
    rgb[i] = static_cast<int>(std::lround(stops[from][i] * (1 - part) + stops[from + 1][i] * part));
  }
  return fmt::format("#{:02x}{:02x}{:02x}", rgb[0], rgb[1], rgb[2]);
}

/// Hosts below, the highest switches on top, each height spread over the whole width.
std::vector<std::optional<Place>> places_of(const QosNetwork& network, double& height) {
  const auto hosts = std::count_if(network.vertices.begin(), network.vertices.end(),
                                   [](const QosVertex& v) { return v.height == 0; });
  const bool with_hosts = static_cast<std::size_t>(hosts) <= most_drawn_hosts;
  std::map<std::uint32_t, std::vector<std::size_t>> rows;
  for (std::size_t v = 0; v < network.vertices.size(); ++v) {
    const std::uint32_t row = network.vertices[v].height;
    if (row > 0 || with_hosts) rows[row].push_back(v);
  }
  std::vector<std::optional<Place>> places(network.vertices.size());
  double y = margin + row_height * (static_cast<double>(rows.size()) - 1);
  height = y + margin;
  for (const auto& [row, members] : rows) {
    const double each = (drawing_width - 2 * margin) / static_cast<double>(members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      places[members[i]] = {.x = margin + (static_cast<double>(i) + 0.5) * each, .y = y};
    }
    y -= row_height;
  }
  return places;
}

/// Cables side by side between the same two vertices are drawn over each other: the fullest last.
void add_links(Page& page, const QosNetwork& network,
               const std::vector<std::optional<Place>>& places, const std::vector<double>& loads) {
  std::vector<std::size_t> order(network.links.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return loads[a] < loads[b]; });
  for (const std::size_t l : order) {
    const QosLink& link = network.links[l];
    const auto &from = places[link.from], &to = places[link.to];
    if (!from || !to) continue;
    const double length = std::max(1.0, std::hypot(to->x - from->x, to->y - from->y));
    const double aside_x = (to->y - from->y) / length * apart / 2;
    const double aside_y = (from->x - to->x) / length * apart / 2;
    page.add(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{:.1f}\"><title>{} to {}: {:.1f} %</title></line>\n",
        from->x + aside_x, from->y + aside_y, to->x + aside_x, to->y + aside_y, colour_of(loads[l]),
        1 + std::min(loads[l], 1.0) * 1.5, html_escape(network.vertices[link.from].name),
        html_escape(network.vertices[link.to].name), loads[l] * 100);
  }
}

void add_drawing(Page& page, const QosNetwork& network, const std::string& title,
                 const std::vector<double>& loads) {
  double height = 0;
  const auto places = places_of(network, height);
  page.add(
      "<figure style=\"margin:0\"><figcaption>{0}</figcaption>\n<svg viewBox=\"0 0 {1} {2:.0f}\" "
      "width=\"100%\" "
      "role=\"img\" aria-label=\"{0}\">\n",
      html_escape(title), drawing_width, height);
  add_links(page, network, places, loads);
  for (std::size_t v = 0; v < places.size(); ++v) {
    if (!places[v]) continue;
    const bool is_host = network.vertices[v].height == 0;
    page.add(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" "
        "fill=\"currentColor\"><title>{}</title></circle>\n",
        places[v]->x, places[v]->y, is_host ? 2 : 5, html_escape(network.vertices[v].name));
  }
  page.raw("</svg></figure>\n");
}

/// Returns the links' loads of one level, or of all levels together.
std::vector<double> loads_of(const QosNetwork& network, std::optional<std::size_t> level,
                             std::vector<double> QosLink::*when) {
  std::vector<double> loads;
  for (const QosLink& link : network.links) {
    const std::vector<double>& by_level = link.*when;
    loads.push_back(level ? by_level[*level]
                          : std::accumulate(by_level.begin(), by_level.end(), 0.0));
  }
  return loads;
}

}  // namespace

std::string qos_drawings(const QosNetwork& network) {
  Page page;
  const auto pair = [&](const std::string& what, std::optional<std::size_t> level) {
    add_drawing(page, network, what + ", default", loads_of(network, level, &QosLink::before));
    add_drawing(page, network, what + ", controlled", loads_of(network, level, &QosLink::after));
  };
  pair("All levels", {});
  for (std::size_t l = 0; l < network.levels.size() && network.levels.size() > 1; ++l) {
    pair(fmt::format("Level {}", network.levels[l]), l);
  }
  return page.take();
}

}  // namespace weft::report
