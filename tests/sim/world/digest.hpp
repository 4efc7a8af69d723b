#pragma once

#include <cstdint>
#include <ostream>
#include <streambuf>
#include <string_view>

namespace quorumlock::sim {

/// A stream that keeps only a hash (FNV-1a) of what is written to it: equal texts have equal
/// numbers.
class Digest : public std::ostream {
 public:
  Digest() : std::ostream(nullptr) { rdbuf(&sink_); }
  [[nodiscard]] std::uint64_t number() const { return sink_.number; }

 private:
  struct Sink : std::streambuf {
    void take(char c) { number = (number ^ static_cast<unsigned char>(c)) * 0x100000001b3U; }
    int_type overflow(int_type c) override {
      if (c != traits_type::eof()) take(traits_type::to_char_type(c));
      return traits_type::not_eof(c);
    }
    std::streamsize xsputn(const char* text, std::streamsize size) override {
      for (const char c : std::string_view(text, static_cast<std::size_t>(size))) take(c);
      return size;
    }
    std::uint64_t number = 0xcbf29ce484222325U;
  };
  Sink sink_;
};

}  // namespace quorumlock::sim
