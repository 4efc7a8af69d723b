#include <signal.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "commands.hpp"
#include "globals.hpp"
#include "nodes_watch.hpp"
#include "output.hpp"
#include "serve/gate.hpp"
#include "serve/http_server.hpp"
#include "serve/listen_address.hpp"
#include "serve/observer.hpp"
#include "serve/site.hpp"
#include "serve/tls.hpp"
#include "signals.hpp"

namespace quorumlock::cli {
namespace {

struct ServeArguments {
  std::string listen = "127.0.0.1:9470";
  std::optional<std::string> token_file;
  std::optional<std::string> tls_cert, tls_key, client_ca;
  std::size_t most_locks = LocksQuery().most;
};

/// Null without TLS. Throws Failure.
std::unique_ptr<TlsServer> tls_of(const ServeArguments& asked) {
  if (asked.tls_cert.has_value() != asked.tls_key.has_value()) {
    throw Failure::usage(asked.tls_cert ? "--tls-cert is given without --tls-key: give both"
                                        : "--tls-key is given without --tls-cert: give both");
  }
  if (asked.tls_cert) {
    return std::make_unique<TlsServer>(TlsFiles{*asked.tls_cert, *asked.tls_key, asked.client_ca});
  }
  if (!asked.client_ca) return nullptr;
  throw Failure::usage(
      "--client-ca is given without --tls-cert and --tls-key: clients show certificates over TLS "
      "only, so give these, too");
}

/// Ends what the server's threads wait for before the server joins them, however this ends.
struct Ending {
  Observer& observer;
  ~Ending() { observer.end(); }
};

int serve(const Globals& globals, const ServeArguments& asked) {
  const ListenAddress address = ListenAddress::read(asked.listen);
  const Gate gate(address, asked.token_file, asked.client_ca.has_value());
  const std::unique_ptr<TlsServer> tls = tls_of(asked);
  const Options options = globals.options();
  Signals signals;
  Coordinator coordinator = coordinator_with(options);
  NodesWatch nodes(globals, options, coordinator);
  Observer observer(coordinator, asked.most_locks);
  Site site(coordinator, observer, gate);
  HttpServer server(
      address, [&site](const HttpRequest& request) { return site.answer(request); }, tls.get());
  const Ending at_the_end{observer};
  if (globals.json) {
    print(Json{{"listening", server.url()}});
  } else {
    print("listening on " + server.url());
  }
  for (;;) {
    server.serve_until_readable(signals.fd());
    const int signal = signals.asked_to_end();
    if (signal == 0 || (signal == SIGHUP && nodes.look_now())) continue;
    // A server that was asked to end has done what it should.
    return signal == SIGTERM || signal == SIGINT ? ExitCode::done : ExitCode::by_signal + signal;
  }
}

}  // namespace

void add_serve(CLI::App& app, Globals& globals, Action& chosen) {
  auto asked = std::make_shared<ServeArguments>();
  CLI::App& command =
      *app.add_subcommand("serve", "show nodes and locks on a page, and to programs, by HTTP");
  command.add_option("--listen", asked->listen, "where (127.0.0.1:9470); port 0: any free one")
      ->type_name("HOST:PORT");
  const auto add_file = [&](const char* name, std::optional<std::string> ServeArguments::*into,
                            const char* help) {
    command
        .add_option_function<std::string>(
            name, [asked, into](const std::string& file) { asked.get()->*into = file; }, help)
        ->type_name("FILE");
  };
  add_file("--token-file", &ServeArguments::token_file,
           "whose first line clients have to show; beyond this machine, this or --client-ca");
  add_file("--tls-cert", &ServeArguments::tls_cert, "the certificate for https, in PEM form");
  add_file("--tls-key", &ServeArguments::tls_key, "its key");
  add_file("--client-ca", &ServeArguments::client_ca,
           "the authorities whose certificates clients may show");
  command
      .add_option("--limit", asked->most_locks, "list no more than about this many locks (10000)")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
  globals.add_flags_to(command);
  command.callback(
      [=, &globals, &chosen] { chosen = [=, &globals] { return serve(globals, *asked); }; });
}

}  // namespace quorumlock::cli
