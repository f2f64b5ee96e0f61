// SPDX-License-Identifier: Apache-2.0
#include "report/assets.hpp"

#include <cstddef>

// The assembler copies the files in as they are; the compiler never parses them. WEFT_ASSET_* are
// their paths, from CMakeLists.txt, which also rebuilds this file when one of them changes.
#define WEFT_EMBED(name, path)                       \
  asm(".pushsection .rodata\n"                       \
      ".hidden weft_asset_" #name                    \
      "_begin\n"                                     \
      ".hidden weft_asset_" #name                    \
      "_end\n"                                       \
      ".global weft_asset_" #name                    \
      "_begin\n"                                     \
      ".global weft_asset_" #name                    \
      "_end\n"                                       \
      "weft_asset_" #name                            \
      "_begin:\n"                                    \
      ".incbin \"" path                              \
      "\"\n"                                         \
      "weft_asset_" #name                            \
      "_end:\n"                                      \
      ".popsection\n");                              \
  extern "C" const char weft_asset_##name##_begin[]; \
  extern "C" const char weft_asset_##name##_end[]

WEFT_EMBED(libraries, WEFT_ASSET_LIBRARIES);
WEFT_EMBED(charts, WEFT_ASSET_CHARTS);
WEFT_EMBED(limits, WEFT_ASSET_LIMITS);
WEFT_EMBED(network, WEFT_ASSET_NETWORK);
WEFT_EMBED(page, WEFT_ASSET_PAGE);
WEFT_EMBED(style, WEFT_ASSET_STYLE);
WEFT_EMBED(head, WEFT_ASSET_HEAD);
WEFT_EMBED(brand, WEFT_ASSET_BRAND);
WEFT_EMBED(columns, WEFT_ASSET_COLUMNS);
WEFT_EMBED(terms, WEFT_ASSET_TERMS);

namespace weft::report {
namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace

std::string_view chart_libraries() {
  return between(weft_asset_libraries_begin, weft_asset_libraries_end);
}
std::string_view chart_script() {
  return between(weft_asset_charts_begin, weft_asset_charts_end);
}
std::string_view limit_script() {
  return between(weft_asset_limits_begin, weft_asset_limits_end);
}
std::string_view network_script() {
  return between(weft_asset_network_begin, weft_asset_network_end);
}
std::string_view page_script() {
  return between(weft_asset_page_begin, weft_asset_page_end);
}
std::string_view page_head() {
  return between(weft_asset_head_begin, weft_asset_head_end);
}
std::string_view page_brand() {
  return between(weft_asset_brand_begin, weft_asset_brand_end);
}
std::string_view run_columns() {
  return between(weft_asset_columns_begin, weft_asset_columns_end);
}
std::string_view page_terms() {
  return between(weft_asset_terms_begin, weft_asset_terms_end);
}
std::string_view style_sheet() {
  return between(weft_asset_style_begin, weft_asset_style_end);
}

}  // namespace weft::report
