#include "wire/client_name.hpp"

#include <algorithm>
#include <utility>

namespace quorumlock::redis {
namespace {

constexpr std::string_view our_prefix = "quorumlock:";
constexpr std::string_view knows_word = ":knows";
constexpr std::string_view enrols_word = ":enrols";

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.ends_with(word)) return false;
  text.remove_suffix(word.size());
  return true;
}

}  // namespace

std::optional<ClientName> ClientName::parse(std::string_view text) {
  if (!text.starts_with(our_prefix)) return std::nullopt;
  text.remove_prefix(our_prefix.size());
  ClientName name;
  name.enrols = take_word(text, enrols_word);
  name.knows = take_word(text, knows_word);
  name.list = text;
  return name;
}

std::string ClientName::to_string() const {
  std::string text = std::string(our_prefix) + list;
  if (knows) text += knows_word;
  if (enrols) text += enrols_word;
  return text;
}

std::vector<ConnectedClient> connected_clients(std::string_view listed) {
  std::vector<ConnectedClient> found;
  while (!listed.empty()) {
    const std::string_view line = listed.substr(0, listed.find('\n'));
    listed.remove_prefix(std::min(line.size() + 1, listed.size()));
    std::string_view id, address, name;
    for (std::size_t at = 0; at < line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      const std::string_view field = line.substr(at, end - at);
      if (field.starts_with("id=")) id = field.substr(3);
      if (field.starts_with("addr=")) address = field.substr(5);
      if (field.starts_with("name=")) name = field.substr(5);
      at = end + 1;
    }
    std::optional<ClientName> ours = ClientName::parse(name);
    if (ours) found.push_back({std::string(id), std::string(address), *std::move(ours)});
  }
  return found;
}

}  // namespace quorumlock::redis
