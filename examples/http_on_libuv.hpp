// The host's part of serve_libuv.cpp: as much HTTP on a libuv loop as that program needs. Your own
// server has this already.
#pragma once

#include <signal.h>
#include <uv.h>

#include <functional>
#include <stdexcept>
#include <string>

/// One connection with one request, which is answered once.
class HttpClient {
 public:
  using Serve = std::function<void(HttpClient*, const std::string&)>;

  /// Takes the connection that the listener has, and hands its request to `serve`.
  static void accept(uv_stream_t* listener, const Serve& serve) {
    auto* client = new HttpClient(serve);
    uv_tcp_init(listener->loop, &client->socket_.tcp);
    client->socket_.handle.data = client;
    if (uv_accept(listener, &client->socket_.stream) != 0) return client->end();
    uv_unref(&client->socket_.handle);  // a client that says nothing does not keep the loop alive
    uv_read_start(
        &client->socket_.stream,
        [](uv_handle_t* socket, std::size_t, uv_buf_t* free) {
          HttpClient& to = *static_cast<HttpClient*>(socket->data);
          *free = {to.chunk_, sizeof to.chunk_};
        },
        [](uv_stream_t* socket, ssize_t count, const uv_buf_t*) {
          static_cast<HttpClient*>(socket->data)->on_read(count);
        });
  }
  /// Answers and ends; `this` is then gone.
  void answer(const std::string& status) {
    std::string text = "HTTP/1.1 " + status + "\r\nConnection: close\r\n\r\n";
    const uv_buf_t all{text.data(), text.size()};
    uv_try_write(&socket_.stream, &all, 1);  // so short a text fits the socket's buffer
    end();
  }

 private:
  explicit HttpClient(const Serve& serve) : serve_(serve) {}
  void end() {
    uv_close(&socket_.handle,
             [](uv_handle_t* socket) { delete static_cast<HttpClient*>(socket->data); });
  }
  void on_read(ssize_t count) {
    if (count < 0) return end();
    asked_.append(chunk_, static_cast<std::size_t>(count));
    if (asked_.find("\r\n\r\n") != std::string::npos) {
      uv_read_stop(&socket_.stream);  // from now on only the answer ends this client
      serve_(this, asked_);
    } else if (asked_.size() > 8192) {
      answer("431 Request Header Fields Too Large");
    }
  }

  const Serve& serve_;
  uv_any_handle socket_{};
  char chunk_[1024];
  std::string asked_;
};

/// Listens on a free port of 127.0.0.1 until it is stopped; lives until the loop has then ended.
class HttpServer {
 public:
  HttpServer(uv_loop_t* loop, HttpClient::Serve serve) : serve_(std::move(serve)) {
    ::signal(SIGPIPE, SIG_IGN);  // libuv would end the process when it answers a client that left
    sockaddr_in address{};
    uv_ip4_addr("127.0.0.1", 0, &address);
    uv_tcp_init(loop, &listener_.tcp);
    listener_.handle.data = this;
    uv_tcp_bind(&listener_.tcp, reinterpret_cast<const sockaddr*>(&address), 0);
    const int failed = uv_listen(&listener_.stream, 128, [](uv_stream_t* listener, int status) {
      if (status == 0)
        HttpClient::accept(listener, static_cast<HttpServer*>(listener->data)->serve_);
    });
    if (failed != 0) throw std::runtime_error(std::string("cannot listen: ") + uv_strerror(failed));
  }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] int port() const {
    sockaddr_in address{};
    int size = sizeof address;
    uv_tcp_getsockname(&listener_.tcp, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }
  void stop() { uv_close(&listener_.handle, nullptr); }

 private:
  const HttpClient::Serve serve_;
  uv_any_handle listener_{};
};
