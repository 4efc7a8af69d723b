#pragma once

#include <memory>
#include <string>
#include <vector>

struct redisContext;

namespace quorumlock::test {

/// A node's reply, in a form that tests can compare and print.
struct Reply {
  enum class Type { nothing, status, error, integer, string, array };
  Type type = Type::nothing;
  long long integer = 0;
  std::string text;
  std::vector<Reply> elements;
  [[nodiscard]] bool is_error() const { return type == Type::error; }
};

/// A synchronous connection to one node, to look at it and to play the foreign client.
class Redis {
 public:
  /// `url`: redis://[USER:PASSWORD@]HOST:PORT or unix:///PATH. The constructor and the calls below
  /// throw std::runtime_error if the node does not answer within a few seconds.
  explicit Redis(const std::string& url);

  Reply operator()(const std::vector<std::string>& words);
  /// Sends without waiting for the reply, which read() returns.
  void send(const std::vector<std::string>& words);
  Reply read();

 private:
  struct Free {
    void operator()(redisContext* context) const;
  };
  std::unique_ptr<redisContext, Free> context_;
};

}  // namespace quorumlock::test
