#include "tls/reason.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>

#include <quorumlock/event.hpp>

namespace quorumlock::tls {
namespace {

constexpr std::size_t longest_name = 100;
constexpr int most_names = 5;

/// A piece of a stranger's certificate, cut and made printable.
std::string shown(std::string_view text) {
  return printable(text, longest_name);
}

std::string time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "a date that cannot be read";
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

std::string name_of(const X509_NAME* name) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), BIO_free);
  X509_NAME_print_ex(memory.get(), name, 0, XN_FLAG_RFC2253);
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  if (size <= 0) return "one without a name";
  return shown({text, static_cast<std::size_t>(size)});
}

std::string address_of(const ASN1_OCTET_STRING* bytes) {
  const int size = ASN1_STRING_length(bytes);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (size != 4 && size != 16) return "?";
  ::inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(bytes), text.data(),
              text.size());
  return text.data();
}

/// The host names and IP addresses that the certificate is for: "a.example, 10.0.0.1".
std::string hosts_of(const X509* certificate) {
  const auto free = [](GENERAL_NAMES* names) { GENERAL_NAMES_free(names); };
  const std::unique_ptr<GENERAL_NAMES, decltype(free)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)),
      free);
  std::string hosts;
  int count = 0;
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    std::string host;
    if (name->type == GEN_DNS) {
      host = shown({reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                    static_cast<std::size_t>(ASN1_STRING_length(name->d.dNSName))});
    } else if (name->type == GEN_IPADD) {
      host = address_of(name->d.iPAddress);
    } else {
      continue;
    }
    if (++count > most_names) return hosts + ", ...";
    hosts += (hosts.empty() ? "" : ", ") + host;
  }
  return hosts;
}

std::string words_of_alert(int alert, bool lacks_certificate) {
  switch (alert) {
    case SSL_AD_UNKNOWN_CA:
      return "does not know the authority that issued our certificate (tls.cert_file)";
    case SSL_AD_CERTIFICATE_EXPIRED: return "says that our certificate (tls.cert_file) has expired";
    case SSL_AD_CERTIFICATE_REVOKED: return "says that our certificate (tls.cert_file) is revoked";
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_ACCESS_DENIED:
      if (!lacks_certificate) return "refuses our certificate (tls.cert_file)";
      break;
    case SSL_AD_UNRECOGNIZED_NAME:
      return "knows no server of the name that we ask for: see tls.server_name";
    case SSL_AD_PROTOCOL_VERSION: return "speaks no version of TLS that tls.min_version permits";
    default: break;
  }
  if (lacks_certificate || alert == TLS13_AD_CERTIFICATE_REQUIRED) {
    return std::string(wants_certificate);
  }
  return std::string("ended the TLS handshake: ") + SSL_alert_desc_string_long(alert);
}

}  // namespace

std::string words_of_bad_certificate(X509_STORE_CTX* chain, std::string_view expected) {
  const int error = X509_STORE_CTX_get_error(chain);
  const bool own = X509_STORE_CTX_get_error_depth(chain) == 0;
  const X509* const bad = X509_STORE_CTX_get_current_cert(chain);
  if (bad == nullptr) return "presented no certificate";
  const std::string which =
      own ? "presented a certificate that"
          : "presented a certificate whose authority (" + name_of(X509_get_subject_name(bad)) + ")";
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return which + " expired on " + time_of(X509_get0_notAfter(bad));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return which + " is not valid before " + time_of(X509_get0_notBefore(bad)) +
             ": is this machine's clock right?";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: {
      const std::string hosts = hosts_of(bad);
      const std::string it_is_for =
          hosts.empty() ? "without a host name or IP address (subjectAltName)" : "for " + hosts;
      return "presented a certificate " + it_is_for + ", and not for " + shown(expected) +
             ": name the node as its certificate does, or set tls.server_name";
    }
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_UNTRUSTED:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:  // another authority of the same name signed it
      return "presented a certificate issued by an unknown authority (" +
             name_of(X509_get_issuer_name(bad)) + "): name its CA by tls.ca_file or tls.ca_dir";
    case X509_V_ERR_INVALID_PURPOSE:
      return which + " is not made for servers (extendedKeyUsage, keyUsage)";
    default: return which + " is refused: " + X509_verify_cert_error_string(error);
  }
}

std::string words_of_failure(unsigned long code, bool at_least_1_3, bool lacks_certificate) {
  const int reason = ERR_GET_REASON(code);
  if (ERR_GET_LIB(code) == ERR_LIB_SSL) {
    if (reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256) {
      return words_of_alert(reason - SSL_AD_REASON_OFFSET, lacks_certificate);
    }
    if (reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_VERSION_TOO_LOW ||
        reason == SSL_R_NO_PROTOCOLS_AVAILABLE) {
      return at_least_1_3 ? "does not speak TLS 1.3, which tls.min_version asks for"
                          : "does not speak TLS 1.2 or later";
    }
  }
  const char* const words = ERR_reason_error_string(code);
  return std::string("broke the rules of TLS: ") + (words == nullptr ? "unknown error" : words);
}

}  // namespace quorumlock::tls
