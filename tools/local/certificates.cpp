#include "local/certificates.hpp"

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <fcntl.h>
#include <unistd.h>

namespace quorumlock::local {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::seconds;

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};

using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;

Key new_key() {
  Key key(EVP_EC_gen("P-256"));
  if (!key) throw std::runtime_error("OpenSSL cannot make a key");
  return key;
}

void add(X509* certificate, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Free> extension(
      X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str()));
  if (!extension) throw std::runtime_error("a certificate cannot say \"" + value + "\"");
  X509_add_ext(certificate, extension.get(), -1);
}

Certificate new_certificate(EVP_PKEY* key, const std::string& name, seconds begins, seconds ends) {
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  std::uint64_t number = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&number), sizeof number);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), number >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), static_cast<long>(begins.count()));
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), static_cast<long>(ends.count()));
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

/// Writes a file under another name and then renames it, so that nobody reads a part of it.
template <class Write>
void replace(const fs::path& path, Write&& write) {
  fs::path beside = path;
  beside += ".new";
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) {
    throw std::system_error(errno, std::generic_category(), "cannot write " + beside.string());
  }
  const std::unique_ptr<std::FILE, Free> file(::fdopen(fd, "w"));
  if (!file || write(file.get()) != 1 || std::fflush(file.get()) != 0) {
    throw std::runtime_error("cannot write " + beside.string());
  }
  fs::rename(beside, path);
}

}  // namespace

struct Authority::Parts {
  Parts() = default;
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    EVP_PKEY_free(key);
    X509_free(certificate);
  }
  EVP_PKEY* key = nullptr;
  X509* certificate = nullptr;
};

Authority::Authority(const AuthoritySettings& settings) : parts_(std::make_unique<Parts>()) {
  parts_->key = new_key().release();
  parts_->certificate =
      new_certificate(parts_->key, settings.name, -hours(48), settings.ends).release();
  X509* const own = parts_->certificate;
  X509_set_issuer_name(own, X509_get_subject_name(own));
  add(own, own, NID_basic_constraints, settings.may_issue ? "critical,CA:TRUE" : "CA:FALSE");
  add(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
  add(own, own, NID_subject_key_identifier, "hash");
  X509_sign(own, parts_->key, EVP_sha256());
}

Authority::~Authority() = default;
Authority::Authority(Authority&&) noexcept = default;
Authority& Authority::operator=(Authority&&) noexcept = default;

void Authority::write(const fs::path& ca_file) const {
  replace(ca_file, [this](std::FILE* file) { return PEM_write_X509(file, parts_->certificate); });
}

void Authority::issue(const CertificateSettings& settings, const fs::path& cert_file,
                      const fs::path& key_file) const {
  const Key key = new_key();
  const Certificate made =
      new_certificate(key.get(), settings.name, settings.begins, settings.ends);
  X509* const issuer = parts_->certificate;
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer));
  add(made.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  add(made.get(), issuer, NID_ext_key_usage, settings.purposes);
  if (!settings.hosts.empty()) add(made.get(), issuer, NID_subject_alt_name, settings.hosts);
  X509_sign(made.get(), parts_->key, EVP_sha256());
  replace(key_file, [&](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  replace(cert_file, [&](std::FILE* file) { return PEM_write_X509(file, made.get()); });
}

ServerTls make_certificates(const fs::path& dir) {
  fs::create_directories(dir);
  ServerTls tls;
  tls.ca_file = dir / "ca.pem";
  tls.cert_file = dir / "server.pem";
  tls.key_file = dir / "server.key";
  const Authority authority;
  authority.write(tls.ca_file);
  authority.issue({.ends = hours(24) * 3649}, tls.cert_file, tls.key_file);
  return tls;
}

ServerTls make_trusted_certificates(const fs::path& dir) {
  ServerTls tls = make_certificates(dir);
  ::setenv("SSL_CERT_FILE", tls.ca_file.c_str(), 1);
  return tls;
}

}  // namespace quorumlock::local
