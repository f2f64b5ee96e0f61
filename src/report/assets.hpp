// SPDX-License-Identifier: Apache-2.0
// The report's own files, built into the program: src/report/web and, from npm at build time, the
// chart libraries.
#pragma once

#include <string_view>

namespace weft::report {

std::string_view chart_libraries();  ///< vega, vega-lite, vega-embed, with their licences
std::string_view chart_script();     ///< web/charts.js
std::string_view limit_script();     ///< web/limits.js
std::string_view page_script();      ///< web/page.js
std::string_view network_script();   ///< web/network.js
std::string_view page_head();        ///< web/head.html
std::string_view page_brand();       ///< web/brand.html
std::string_view run_columns();      ///< web/columns.html
std::string_view page_terms();       ///< web/terms.html
std::string_view style_sheet();      ///< web/style.css

}  // namespace weft::report
