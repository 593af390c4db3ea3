// Certificate authorities and what they sign, made in milliseconds for one test.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "support/catch.h"

namespace trainstep::test {

struct Identity {
  std::string certificate_pem;
  std::string key_pem;
};

class Authority {
 public:
  explicit Authority(const std::string& name) : m_key(EVP_EC_gen("P-256"), EVP_PKEY_free) { m_certificate = make(name, m_key.get(), "", 3600); }
  [[nodiscard]] std::string pem() const { return text_of(m_certificate.get()); }

  // `alternatives`: "IP:127.0.0.1,DNS:server". `seconds`: how long it is valid from now; negative: no longer.
  Identity issue(const std::string& name, const std::string& alternatives, long seconds = 3600) {
    const Key key(EVP_EC_gen("P-256"), EVP_PKEY_free);
    const auto certificate = make(name, key.get(), alternatives, seconds);
    return {text_of(certificate.get()), key_text(key.get())};
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
  using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;
  using Memory = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

  Certificate make(const std::string& name, EVP_PKEY* key, const std::string& alternatives, long seconds) {
    Certificate certificate(X509_new(), X509_free);
    X509* const made = certificate.get();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), ++m_serial);
    X509_gmtime_adj(X509_getm_notBefore(made), seconds < 0 ? seconds - 60 : -60);
    X509_gmtime_adj(X509_getm_notAfter(made), seconds);
    X509_set_pubkey(made, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made, m_certificate ? X509_get_subject_name(m_certificate.get()) : X509_get_subject_name(made));
    if (!m_certificate) extend(made, NID_basic_constraints, "critical,CA:TRUE");
    if (!alternatives.empty()) extend(made, NID_subject_alt_name, alternatives);
    REQUIRE(X509_sign(made, m_key.get(), EVP_sha256()) != 0);
    return certificate;
  }

  static void extend(X509* certificate, int which, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, which, value.c_str());
    REQUIRE(extension != nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  static std::string content(BIO* memory) {
    char* bytes = nullptr;
    const auto size = BIO_get_mem_data(memory, &bytes);
    return {bytes, static_cast<std::size_t>(size)};
  }
  static std::string text_of(X509* certificate) {
    const Memory memory(BIO_new(BIO_s_mem()), BIO_free_all);
    PEM_write_bio_X509(memory.get(), certificate);
    return content(memory.get());
  }
  static std::string key_text(EVP_PKEY* key) {
    const Memory memory(BIO_new(BIO_s_mem()), BIO_free_all);
    PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
    return content(memory.get());
  }

  long m_serial = 0;
  Key m_key;
  Certificate m_certificate{nullptr, X509_free};
};

}  // namespace trainstep::test
