#include "lock/placement.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

namespace quorumlock::core {
namespace {

constexpr std::uint64_t fnv_basis = 0xcbf29ce484222325U;
constexpr std::uint64_t fnv_prime = 0x100000001b3U;

std::uint64_t with(std::uint64_t hash, char next) {
  return (hash ^ static_cast<unsigned char>(next)) * fnv_prime;
}

}  // namespace

Placement::Placement(std::vector<std::string> groups, int loops, std::string key_prefix)
    : loops_(static_cast<std::uint64_t>(loops)), key_prefix_(std::move(key_prefix)) {
  std::vector<std::size_t> by_name(groups.size());
  std::iota(by_name.begin(), by_name.end(), std::size_t{0});
  std::ranges::sort(by_name, {}, [&](std::size_t number) { return groups[number]; });
  for (const std::size_t number : by_name) groups_.push_back({hash(groups[number]), number});
}

Placement::Home Placement::of(std::string_view resource) const {
  Home place;
  if (groups_.size() <= 1 && loops_ == 1) return place;
  const std::uint64_t key = key_hash(key_prefix_, resource);
  std::uint64_t greatest = 0;
  for (const Group& group : groups_) {
    const std::uint64_t its = weight(group.hash, key);
    if (&group != &groups_.front() && its <= greatest) continue;
    greatest = its;
    place.group = group.number;
  }
  // The key's hash is mixed in another way, so that group and loop are independent of each other.
  place.loop = static_cast<std::size_t>(((mixed(~key) >> 32U) * loops_) >> 32U);
  return place;
}

std::uint64_t Placement::hash(std::string_view text) {
  std::uint64_t hash = fnv_basis;
  for (const char next : text) hash = with(hash, next);
  return hash;
}

std::uint64_t Placement::key_hash(std::string_view prefix, std::string_view rest) {
  const std::size_t size = prefix.size() + rest.size();
  const auto at = [&](std::size_t i) {
    return i < prefix.size() ? prefix[i] : rest[i - prefix.size()];
  };
  const auto find = [&](char what, std::size_t from) {
    while (from < size && at(from) != what) ++from;
    return from;
  };
  std::size_t begin = 0;
  std::size_t end = size;
  if (const std::size_t open = find('{', 0); open < size) {
    const std::size_t close = find('}', open + 1);
    if (close < size && close > open + 1) {
      begin = open + 1;
      end = close;
    }
  }
  std::uint64_t hash = fnv_basis;
  for (std::size_t i = begin; i < end; ++i) hash = with(hash, at(i));
  return hash;
}

std::uint64_t Placement::mixed(std::uint64_t number) {
  number = (number ^ (number >> 30U)) * 0xbf58476d1ce4e5b9U;
  number = (number ^ (number >> 27U)) * 0x94d049bb133111ebU;
  return number ^ (number >> 31U);
}

std::string Placement::mark(std::vector<std::string> groups, std::string_view group) {
  if (groups.size() <= 1) return {};
  std::ranges::sort(groups);
  std::string all(group);
  for (const std::string& name : groups) all += "," + name;  // no name has a comma in it
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(mixed(hash(all))));
  return digits;
}

}  // namespace quorumlock::core
