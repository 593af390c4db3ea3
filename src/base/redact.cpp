// SPDX-License-Identifier: Apache-2.0
#include "base/redact.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <utility>

#include "base/interruptions.h"
#include "base/max_line_length.h"
#include "base/secret_forms.h"
#include "base/text.h"
#include "base/written_secrets.h"

namespace trainstep {
namespace {

constexpr std::string_view mark = "[redacted]";
constexpr std::size_t max_authority_length = 512;  // a text of several megabytes may consist of URLs only

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_token_character(char c) { return is_letter(c) || is_digit(c) || std::string_view("-_.~+/=").find(c) != std::string_view::npos; }
char as_small(char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; }

// Lower-case letters and digits only.
std::string letters_and_digits(std::string_view name) {
  std::string result;
  for (const char c : name)
    if (is_letter(c) || is_digit(c)) result += as_small(c);
  return result;
}

// "HF_TOKEN_2", "hfToken": hf, token. Numbers are ignored.
std::vector<std::string> segments(std::string_view name) {
  std::vector<std::string> parts;
  bool open = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!is_letter(name[i])) {
      open = false;
      continue;
    }
    if (!open || (is_upper(name[i]) && is_lower(name[i - 1]))) parts.emplace_back();
    parts.back() += as_small(name[i]);
    open = true;
  }
  return parts;
}

// Whether the number at this place is a longer one: 1000000 in 21000000, or in 1000000.5.
bool is_part_of_number(std::string_view text, std::size_t at, std::size_t size) {
  const auto digit = [&](std::size_t place) { return place < text.size() && is_digit(text[place]); };
  const auto end = at + size;
  return digit(end) || (at > 0 && digit(at - 1)) || (end < text.size() && text[end] == '.' && digit(end + 1)) ||
         (at > 1 && text[at - 1] == '.' && digit(at - 2));
}

void replace_all(std::string& text, std::string_view what) {
  const bool number = std::ranges::all_of(what, is_digit);
  for (auto at = text.find(what); at != std::string::npos;) {
    const bool other = number && is_part_of_number(text, at, what.size());
    if (!other) text.replace(at, what.size(), mark);
    at = text.find(what, at + (other ? 1 : mark.size()));
  }
}

// Redacts the run of token characters after each `prefix`, and the prefix, too, unless `keep`.
void redact_behind(std::string& text, std::string_view prefix, bool keep) {
  for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + mark.size())) {
    const auto begin = keep ? at + prefix.size() : at;
    auto end = at + prefix.size();
    while (end < text.size() && is_token_character(text[end])) ++end;
    if (end - begin < min_secret_length) {
      at = end;
      continue;
    }
    text.replace(begin, end - begin, mark);
    at = begin;
  }
}

bool may_be_in_name(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; }

// As programs read it: "p%40ss" → "p@ss".
std::string percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    unsigned byte = 0;
    const auto* digits = text.data() + at + 1;
    const bool encoded = text[at] == '%' && at + 2 < text.size() && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2;
    result += encoded ? static_cast<char>(byte) : text[at];
    if (encoded) at += 2;
  }
  return result;
}

// The part of a URL, and what it stands for.
void note(std::string_view part, std::vector<std::string>* found) {
  if (found == nullptr) return;
  found->emplace_back(part);
  if (auto decoded = percent_decoded(part); decoded != part) found->push_back(std::move(decoded));
}

void note_user(std::string_view who, std::vector<std::string>* found) {
  note(who, found);
  if (const auto colon = who.find(':'); colon != std::string_view::npos) note(who.substr(colon + 1), found);
}

void note_query(std::string_view value, std::vector<std::string>* found) {
  if (found == nullptr) return;
  note(value, found);
  if (value.find('+') == std::string_view::npos) return;
  std::string blanks(value);
  std::ranges::replace(blanks, '+', ' ');
  found->push_back(percent_decoded(blanks));
}

// The end of the authority in `rest`, the text after "://". Handles an unescaped slash in a password, "user:p/ss@host": the text after the colon is
// not a port, and the '@' follows the slash.
std::size_t authority_end(std::string_view rest) {
  const auto end = std::min(rest.find_first_of("/?# \t\n\"'<>"), rest.size());
  const auto colon = rest.substr(0, end).rfind(':');
  const auto word_end = std::min(rest.find_first_of(" \t\n\"'<>"), rest.size());
  const bool cut = end < word_end && colon != std::string_view::npos && rest.substr(0, end).find_first_of("@]") == std::string_view::npos &&
                   !std::ranges::all_of(rest.substr(colon + 1, end - colon - 1), is_digit);
  const auto at = cut ? rest.substr(0, word_end).find('@') : std::string_view::npos;
  return at == std::string_view::npos ? end : at + 1;
}

// "://user:password@" and "://token@" → "://[redacted]@". Appends the removed text to `found`.
void redact_users_of_addresses(std::string& text, std::vector<std::string>* found) {
  constexpr std::string_view scheme = "://";
  for (auto at = text.find(scheme); at != std::string::npos; at = text.find(scheme, at + 1)) {
    const auto begin = at + scheme.size();
    const auto rest = std::string_view(text).substr(begin, max_authority_length);
    const auto authority = rest.substr(0, authority_end(rest));
    const auto user = authority.rfind('@');
    if (user == std::string_view::npos || user == 0 || authority.substr(0, user) == mark) continue;
    note_user(authority.substr(0, user), found);
    text.replace(begin, user, mark);
  }
}

// Whether the text after an '@' begins with a host: "proxy:3128", "registry.example/x", "localhost". Not "sha256:…".
bool is_host(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]) || text[end] == '-' || text[end] == '.')) ++end;
  const auto host = text.substr(0, end);
  const auto port = text.substr(end);
  if (host == "localhost" || host.find('.') != std::string_view::npos) return true;
  constexpr std::size_t max_port_length = 5;
  const auto digits = std::min(port.find_first_not_of("0123456789", 1), port.size());
  return !host.empty() && port.starts_with(':') && digits > 1 && digits <= max_port_length + 1 && host != "sha256" && host != "sha512";
}

// "user:password@proxy:3128", which curl and requests accept as well.
void redact_users_of_hosts(std::string& text, std::vector<std::string>* found) {
  std::string result;
  std::size_t word = 0, copied = 0;
  auto colon = std::string::npos;  // the first one in the word
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between = std::string_view(" \t\r\n\"'<>/?#,;()[]{}=").find(text[i]) != std::string_view::npos;
    if (between) word = i + 1, colon = std::string::npos;
    if (text[i] == ':' && colon == std::string::npos) colon = i;
    if (text[i] != '@' || colon == std::string::npos || colon == word || colon + 1 == i || !is_host(std::string_view(text).substr(i + 1))) continue;
    note_user(std::string_view(text).substr(word, i - word), found);
    result.append(text, copied, word - copied).append(mark);
    copied = i;
    word = i + 1, colon = std::string::npos;
  }
  if (copied > 0) text = result.append(text, copied);
}

void redact_users(std::string& text, std::vector<std::string>* found = nullptr) {
  redact_users_of_addresses(text, found);
  redact_users_of_hosts(text, found);
}

// "?X-Amz-Signature=…", "&token=…"
void redact_queries(std::string& text, std::vector<std::string>* found = nullptr) {
  for (auto at = text.find_first_of("?&"); at != std::string::npos; at = text.find_first_of("?&", at + 1)) {
    auto end = at + 1;
    while (end < text.size() && may_be_in_name(text[end])) ++end;
    if (end == text.size() || text[end] != '=') continue;
    const auto name = std::string_view(text).substr(at + 1, end - at - 1);
    const auto stop = std::min(text.find_first_of("&# \t\n\"'<>", end), text.size());
    const bool secret = sounds_secret(name) || letters_and_digits(name).ends_with("signature") || name == "sig";
    if (!secret || stop <= end + 1) continue;
    if (const auto value = std::string_view(text).substr(end + 1, stop - end - 1); value != mark) note_query(value, found);
    text.replace(end + 1, stop - end - 1, mark);
  }
}

// An unquoted expression in program text: token=$TOKEN, token=os.environ["TOKEN"], in Python also token=training. Its words are not secrets.
bool is_expression(std::string_view text, std::string_view value, bool python) {
  const auto at = static_cast<std::size_t>(value.data() - text.data());
  if (at > 0 && (text[at - 1] == '"' || text[at - 1] == '\'')) return false;
  return value.starts_with('$') || value.find_first_of("([") != std::string_view::npos || (python && std::ranges::none_of(value, is_digit));
}

// Placeholder values that users write in place of a secret, and words that messages consist of. Redacting them would make messages less clear without
// hiding anything from the reader.
bool is_ordinary(std::string_view word) {
  constexpr auto words = std::to_array<std::string_view>(
      {"cancelled", "capacity", "default",  "disabled",   "enabled", "failed",  "finished", "finishing", "input",   "interrupted", "invalid",
       "launcher",  "master",   "member",   "message",    "missing", "object",  "optional", "password",  "pending", "queued",      "reason",
       "required",  "restarts", "running",  "scheduling", "secret",  "signal",  "started",  "starting",  "stopped", "string",      "succeeded",
       "system",    "timeout",  "training", "trainstep",  "unknown", "verdict", "waiting",  "worker"});
  return word.size() < min_secret_length || std::ranges::find(words, word) != words.end();
}

// Whether the text may contain the secret, or an end of it with eight characters: whether it has the first or the last characters that all forms
// share. Saves the search for many forms of many secrets.
bool may_contain(std::string_view text, std::string_view secret) {
  constexpr std::size_t at_most = 4;
  secret = trim(secret);
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  const auto plain = static_cast<std::size_t>(std::ranges::find_if_not(secret, is_unreserved) - secret.begin());
  if (has(secret.substr(0, std::min(plain, at_most)))) return true;
  const bool filled = secret.ends_with('=');  // base64
  while (secret.ends_with('=')) secret.remove_suffix(1);
  const auto last = std::ranges::find_if_not(secret.rbegin(), secret.rend(), is_unreserved) - secret.rbegin();
  return has(secret.substr(secret.size() - std::min(static_cast<std::size_t>(last), filled ? at_most / 2 : at_most)));
}

void add_forms(std::vector<std::string>& forms, std::string_view secret) {
  for (auto& form : written_forms(secret))
    if (!is_ordinary(form)) forms.push_back(std::move(form));
}

// All forms of the secrets that the text may contain, the longest first.
std::vector<std::string> forms_in(std::string_view text, const std::vector<std::string>& secrets) {
  std::vector<std::string> forms;
  for (const auto& secret : secrets)
    if (may_contain(text, secret)) add_forms(forms, secret);
  std::ranges::sort(forms, std::greater<>(), &std::string::size);
  return forms;
}

constexpr std::size_t min_part_length = 8;  // bytes; a shorter one may be an ordinary word

// The beginning of a secret at the end of a text that was cut off, also before an ellipsis.
void redact_cut(std::string& text, const std::vector<std::string>& forms) {
  std::string_view kept = text;
  for (const std::string_view end : {"...", "\u2026", " ", "\n"})
    if (kept.ends_with(end)) kept.remove_suffix(end.size());
  for (const auto& form : forms) {
    if (form.size() <= min_part_length) continue;
    const auto from = kept.size() - std::min(kept.size(), form.size() - 1);
    const auto at = kept.find(std::string_view(form).substr(0, min_part_length), from);
    if (at == std::string_view::npos || !form.starts_with(kept.substr(at)) || is_ordinary(kept.substr(at))) continue;
    text.replace(at, kept.size() - at, mark);
    return;
  }
}

// The end of a secret at the beginning of a text that was cut off.
void redact_rest(std::string& text, const std::vector<std::string>& forms) {
  for (const auto& form : forms) {
    if (form.size() <= min_part_length) continue;
    const auto last = std::string_view(form).substr(form.size() - min_part_length);
    const auto at = std::string_view(text).substr(0, form.size() - 1).find(last);
    if (at == std::string_view::npos) continue;
    const auto rest = std::string_view(text).substr(0, at + min_part_length);
    if (!form.ends_with(rest) || is_ordinary(rest)) continue;
    text.replace(0, rest.size(), mark);
    return;
  }
}

// The longest end of one of the forms, even a single character, with which the text begins; or beginning, with which it ends.
std::size_t common(std::string_view text, const std::vector<std::string>& forms, bool text_begins) {
  std::size_t longest = 0;
  for (const std::string_view form : forms)
    for (auto length = std::min(form.size() - 1, text.size()); length > longest; --length)
      if (text_begins ? text.starts_with(form.substr(form.size() - length)) : text.ends_with(form.substr(0, length))) longest = length;
  return longest;
}

std::string redacted_as_it_is(std::string_view text, const std::vector<std::string>& secrets) {
  std::string result(text);
  const auto forms = forms_in(text, secrets);
  for (const auto& form : forms) replace_all(result, form);
  redact_cut(result, forms);
  redact_rest(result, forms);
  for (const auto* bearer : {"Bearer ", "Bearer\t"}) redact_behind(result, bearer, true);
  redact_behind(result, "eyJ", false);  // {" in base64: the start of a JSON web token
  redact_users(result);
  redact_queries(result);
  return result;
}

std::string without_known(std::string_view text, const std::vector<std::string>& secrets) {
  return redact_despite_interruptions(text, [&](std::string_view shown) {
    std::string result(shown);
    for (const auto& form : forms_in(shown, secrets)) replace_all(result, form);
    return result;
  });
}

// The length of the rest of a secret whose end is not known.
std::size_t rest_of_word(std::string_view text) { return std::min(text.find_first_of(" \t\r\"',;}])"), text.size()); }

// A line, or part of one: `before` says what the line before is, `last` what this one is.
std::string redacted_part(std::string_view line, const std::vector<std::string>& secrets, const SplitLine& before, SplitLine& last) {
  std::vector<std::string> forms;
  for (const auto& secret : secrets) add_forms(forms, secret);
  auto begins = before.goes_on ? common(line, forms, true) : 0;
  if (before.within_secret) begins = std::max(begins, rest_of_word(line));
  const auto ends = last.goes_on ? common(line.substr(begins), forms, false) : 0;
  const auto written = last.goes_on ? written_secrets(line) : std::vector<std::string_view>();
  last.within_secret = (!written.empty() && written.back().end() == line.end()) || (before.within_secret && last.goes_on && begins == line.size());
  std::string result(begins > 0 ? mark : "");
  result += without_known(line.substr(begins, line.size() - begins - ends), secrets);
  return ends > 0 ? result.append(mark) : result;
}

}  // namespace

std::string redacted(std::string_view text, const std::vector<std::string>& secrets) {
  return redact_despite_interruptions(text, [&](std::string_view shown) { return redacted_as_it_is(shown, secrets); });
}

std::string redacted_lines(std::string_view lines, const std::vector<std::string>& secrets, SplitLine& last) {
  if (!last.goes_on && lines.size() <= max_line_length) return without_known(lines, secrets);
  std::string result;
  while (!lines.empty()) {
    const auto line = lines.substr(0, lines.find('\n'));
    const auto before = std::exchange(last, {.goes_on = line.size() > max_line_length});
    result += before.goes_on || last.goes_on ? redacted_part(line, secrets, before, last) : without_known(line, secrets);
    result += '\n';
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return result;
}

bool sounds_secret(std::string_view name) {
  constexpr auto words = std::to_array<std::string_view>(
      {"sshkey",    "licensekey", "password",         "passwd",        "passphrase",    "passcode",  "secret",     "credential",
       "apikey",    "accesskey",  "privatekey",       "signingkey",    "encryptionkey", "deploykey", "accountkey", "storagekey",
       "masterkey", "authkey",    "connectionstring", "authorization", "mnemonic",      "clientkey", "seedphrase", "recoveryphrase"});
  const auto parts = segments(name);
  if (parts.empty() || name == "PWD") return false;  // PWD: a shell's working directory
  // What is said of a secret, and the tokens of a text: password_length, max_token.
  constexpr auto of_a_secret = std::to_array<std::string_view>({"file", "path", "dir", "length", "len", "size", "count", "loss", "acc", "accuracy"});
  if (std::ranges::find(of_a_secret, parts.back()) != of_a_secret.end()) return false;
  constexpr auto of_a_text =
      std::to_array<std::string_view>({"max",  "min", "num", "n",       "total", "target", "per",     "bos",   "eos", "pad", "unk",
                                       "mask", "sep", "cls", "special", "image", "prompt", "context", "start", "end", "stop"});
  if (parts.back() == "token" && parts.size() > 1 && std::ranges::find(of_a_text, parts[parts.size() - 2]) != of_a_text.end()) return false;
  const auto whole = letters_and_digits(name);
  if (std::ranges::any_of(words, [&](std::string_view word) { return whole.find(word) != std::string::npos; })) return true;
  if (parts.back() == "token" || whole.ends_with("token") || parts.back() == "auth" || parts.back() == "bearer" || parts.back() == "pwd" ||
      parts.back() == "pass" || parts.back() == "jwt")
    return true;
  if (parts.size() > 1 && parts.front() == "pwd") return true;
  // pat: a personal access token; sas: Azure's shared access signature
  constexpr auto last_words = std::to_array<std::string_view>({"pat", "pw", "otp", "cookie", "creds", "webhook", "tok", "sas"});
  // Slack's and Discord's webhooks: anyone who knows one may post.
  if (whole.ends_with("webhookurl") || whole.ends_with("sessionid") || whole.ends_with("sasurl")) return true;
  constexpr auto single_words = std::to_array<std::string_view>({"creds", "otp", "cookie", "sas"});
  const bool one_word = parts.size() == 1 && std::ranges::find(single_words, parts.back()) != single_words.end();
  if ((parts.size() > 1 || one_word) && std::ranges::find(last_words, parts.back()) != last_words.end()) return true;
  // Services whose credentials are keys. Other names with "key" are as often columns, labels and entries as secrets (sort_key, image_key).
  constexpr auto services =
      std::to_array<std::string_view>({"wandb",   "openai",  "anthropic", "gemini", "cohere", "mistral", "hf",    "huggingface", "comet",
                                       "neptune", "clearml", "mlflow",    "kaggle", "minio",  "aws",     "azure", "gcp",         "gcs",
                                       "google",  "github",  "gitlab",    "slack",  "sentry", "datadog", "ngc",   "roboflow",    "pinecone"});
  const auto is_service = [&](const std::string& part) { return std::ranges::find(services, part) != services.end(); };
  // Other names with "tokens" are counts: max_tokens, num_tokens.
  constexpr auto of_tokens = std::to_array<std::string_view>({"access", "api", "auth", "bearer", "deploy", "refresh", "session"});
  const auto is_of_tokens = [&](const std::string& part) { return is_service(part) || std::ranges::find(of_tokens, part) != of_tokens.end(); };
  if (parts.back() == "tokens" && std::ranges::any_of(parts, is_of_tokens)) return true;
  if (parts.size() > 1 && parts.back() == "key" && (whole.starts_with("s3") || std::ranges::any_of(parts, is_service))) return true;
  const bool capitals = std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
  return capitals && parts.size() > 1 && parts.back() == "key";
}

bool is_secret_item(std::string_view name, std::string_view item) {
  constexpr std::size_t min_token_length = 12;
  if (sounds_secret(name)) return true;
  return letters_and_digits(name) == "tokens" && item.size() >= min_token_length && std::ranges::all_of(item, is_token_character) &&
         std::ranges::any_of(item, is_digit) && std::ranges::any_of(item, is_letter);
}

// Parts that are secrets on their own: a header's value without its scheme, a password without its user, keys in a list, a text without its quotes.
void collect_parts(std::string_view value, std::vector<std::string>& secrets) {
  const auto take = [&](std::string_view part) {
    if (part.size() >= min_part_length && part.size() < value.size()) secrets.emplace_back(part);
  };
  if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front()) take(value.substr(1, value.size() - 2));
  if (value.find('\n') != std::string_view::npos) return;
  const auto blank = value.find(' ');
  if (blank != std::string_view::npos && value.find(' ', blank + 1) == std::string_view::npos) take(value.substr(blank + 1));
  if (value.find_first_of(" {[") != std::string_view::npos) return;
  if (const auto colon = value.find(':'); colon != std::string_view::npos && value.find("://") == std::string_view::npos)
    take(value.substr(colon + 1));
  if (value.find(',') == std::string_view::npos) return;
  for (std::size_t begin = 0; begin < value.size();) {
    const auto end = std::min(value.find(',', begin), value.size());
    take(value.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::vector<std::string> secrets_in(std::string_view name, std::string_view value) {
  std::vector<std::string> secrets;
  std::string text(value);
  redact_users(text, &secrets);
  redact_queries(text, &secrets);
  const bool python = value.find("\nimport ") != std::string_view::npos || value.find("\ndef ") != std::string_view::npos;
  for (const auto written : written_secrets(value))
    if (!is_expression(value, written, python)) secrets.emplace_back(written);
  if (const auto equals = value.find('='); equals != std::string_view::npos && !sounds_secret(name)) {  // a word of a command line: --token=a b
    name = value.substr(0, equals);
    if (!std::ranges::all_of(name, may_be_in_name)) return secrets;
    value.remove_prefix(equals + 1);
  }
  if (!sounds_secret(name)) return secrets;
  secrets.emplace_back(value);
  collect_parts(value, secrets);
  constexpr std::size_t min_line_length = 8;
  constexpr std::string_view breaks = "\r\n";
  for (std::size_t begin = 0; value.find_first_of(breaks) != std::string_view::npos && begin < value.size();) {
    const auto end = std::min(value.find_first_of(breaks, begin), value.size());
    if (end - begin >= min_line_length) secrets.emplace_back(value.substr(begin, end - begin));
    begin = end + 1;
  }
  return secrets;
}

bool holds_secret(std::string_view name, std::string_view value) {
  return sounds_secret(name) || redacted(value, {}) != value || !written_secrets(value).empty();
}

std::vector<std::string> secrets_of_environment(const std::vector<std::string>& variables) {
  std::vector<std::string> secrets;
  for (const auto& variable : variables) {
    const auto equals = variable.find('=');
    if (equals == std::string::npos) continue;
    for (auto& secret : secrets_in(std::string_view(variable).substr(0, equals), std::string_view(variable).substr(equals + 1)))
      secrets.push_back(std::move(secret));
  }
  return secrets;
}

}  // namespace trainstep
