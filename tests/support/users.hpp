#pragma once

#include <string>
#include <vector>

namespace quorumlock::test {

/// Whether the servers that tests start switch the default user off, and clients log in as the
/// users of docs/security.md: QUORUMLOCK_TEST_ACL is set.
bool users_of_tests();

/// The passwords of those users. No output of any program may have one of them.
inline constexpr const char* password_of_users = "s3cret-of-the-tests";
/// The user that a test itself is on such a server, with every right.
inline constexpr const char* test_user = "test";

/// Returns the words of the line of docs/security.md that makes this user, from its name on, with
/// this password and for locks whose names begin with `prefix`. Throws std::runtime_error if there
/// is no such line.
std::vector<std::string> words_of_user(const std::string& user, const std::string& password,
                                       const std::string& prefix);

/// The settings of a redis-server whose default user is off, and which has this user and
/// test_user.
std::vector<std::string> settings_with_user(const std::string& user);

/// The URL with this user and the password of users in it.
std::string with_login(std::string url, const std::string& user);

}  // namespace quorumlock::test
