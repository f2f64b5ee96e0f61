// SPDX-License-Identifier: Apache-2.0
#include "report/page_parts.hpp"

#include <algorithm>

#include "report/assets.hpp"
#include "report/html.hpp"

namespace weft::report {
namespace {

/// A command whose words break apart only when a line cannot hold them: without this, a browser
/// breaks "--inputs" after its hyphens. Its text stays the command.
std::string command_words(std::string_view command) {
  std::string out;
  while (!command.empty()) {
    const std::size_t space = std::min(command.find(' '), command.size());
    if (space > 0) out += "<span>" + html_escape(command.substr(0, space)) + "</span>";
    if (space < command.size()) out += ' ';
    command.remove_prefix(std::min(space + 1, command.size()));
  }
  return out;
}

}  // namespace

void add_head(Page& page, const std::string& title) {
  page.raw(page_head());
  page.add("<title>{} · weft</title>\n<style>\n", html_escape(title));
  page.raw(style_sheet());
  page.raw("</style>\n</head>\n");
}

void add_command(Page& page, const std::string& command, const std::string& what) {
  page.add(R"(<div class="command"><p>{}</p>)"
           R"(<pre tabindex="0"><code>{}</code></pre>)"
           R"(<button type="button" class="copy">Copy</button></div>)"
           "\n",
           html_escape(what), command_words(command));
}

void add_fact(Page& page, std::string_view name, const std::string& value) {
  page.add("<div><dt>{}</dt><dd>{}</dd></div>\n", name, html_escape(value));
}

void add_charts(Page& page, std::initializer_list<std::string_view> scripts) {
  page.raw("<script>\n");
  page.raw(chart_libraries());
  for (const std::string_view script : scripts) {
    page.raw("</script>\n<script>\n");
    page.raw(script);
  }
  page.raw("</script>\n</body>\n</html>\n");
}

}  // namespace weft::report
