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

void begin_page(Page& page, const std::string& title, std::string_view body) {
  page.raw(page_head());
  page.add("<title>{} · weft</title>\n<style>\n", html_escape(title));
  page.raw(style_sheet());
  page.add("</style>\n</head>\n{}", body);
  page.raw(page_brand());
}

std::string end_page(Page& page, const std::string& command) {
  add_command(page, command, "The command that made this page:");
  page.raw("</main>\n</body>\n</html>\n");
  return page.take();
}

void add_table(Page& page, const std::vector<std::string>& head,
               const std::vector<std::vector<std::string>>& rows,
               const std::function<std::string(std::size_t, std::size_t)>& style) {
  page.raw("<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>");
  for (const std::string& cell : head) page.add("<th scope=\"col\">{}</th>", html_escape(cell));
  page.raw("</tr></thead>\n<tbody>\n");
  for (std::size_t r = 0; r < rows.size(); ++r) {
    page.add("<tr><th scope=\"row\">{}</th>", html_escape(rows[r][0]));
    for (std::size_t c = 1; c < rows[r].size(); ++c) {
      const std::string css = style ? style(r, c) : "";
      page.add("<td{}>{}</td>", css.empty() ? "" : fmt::format(" style=\"{}\"", css),
               html_escape(rows[r][c]));
    }
    page.raw("</tr>\n");
  }
  page.raw("</tbody>\n</table></div>\n");
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
