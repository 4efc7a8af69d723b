#pragma once

#include <string_view>

namespace quorumlock::cli {

// The files of tools/cli/serve/page.
extern const std::string_view page_html;
extern const std::string_view page_css;
extern const std::string_view page_js;

}  // namespace quorumlock::cli
