// The lean libcurl links statically and has what the release needs and nothing more: HTTP and HTTPS, OpenSSL. It resolves no names.
// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>

#include <cstdio>
#include <string>

int main() {
  const curl_version_info_data* info = curl_version_info(CURLVERSION_NOW);
  std::string protocols;
  for (const char* const* name = info->protocols; *name != nullptr; ++name) protocols += std::string(protocols.empty() ? "" : " ") + *name;
  std::printf("%s: %s\n", curl_version(), protocols.c_str());

  const int unwanted = CURL_VERSION_HTTP2 | CURL_VERSION_HTTP3 | CURL_VERSION_IDN | CURL_VERSION_PSL | CURL_VERSION_BROTLI | CURL_VERSION_ZSTD |
                       CURL_VERSION_NTLM | CURL_VERSION_SPNEGO | CURL_VERSION_KERBEROS5 | CURL_VERSION_ALTSVC | CURL_VERSION_HSTS |
                       CURL_VERSION_ASYNCHDNS;
  const bool right = protocols == "http https" && (info->features & unwanted) == 0 && std::string(info->ssl_version).starts_with("OpenSSL");
  if (!right) std::printf("unexpected: features %x, ssl %s\n", info->features, info->ssl_version);
  return right ? 0 : 1;
}
