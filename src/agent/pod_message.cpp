// SPDX-License-Identifier: Apache-2.0
#include "agent/pod_message.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/fd.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/redact.h"
#include "base/regular_file.h"
#include "base/write.h"
#include "base/written_secrets.h"
#include "log/writer.h"
#include "process/child.h"
#include "result/termination_message.h"

namespace trainstep::agent {
namespace {

namespace fs = std::filesystem;

constexpr Duration reader_timeout{1'000};

fs::path report_file(const std::string& scratch) { return fs::path(scratch) / "report.json"; }

// The reader of the pod's log belongs to the node: while it does not read, the agent must still handle signals and finish uploads.
log::Writer& lines() {
  static log::Writer writer(STDERR_FILENO);
  return writer;
}

// Redacts secrets in the container's variables, which a store may quote.
std::string clean(std::string_view text) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : process::own_environment()) variables.push_back(fmt::format("{}={}", name, value));
  return without_quoted_secrets(redacted(text, secrets_of_environment(variables)));
}

result::PodReport clean(result::PodReport report) {
  report.message = clean(report.message);
  return report;
}

// The containers of a pod share 12 KiB (kubelet, MaxPodTerminationMessageLogLength): curves must not displace a message that would otherwise fit.
void shorten_curves(result::PodReport& report) {
  constexpr std::size_t limit = 1024;
  if (std::ranges::all_of(report.outputs, [](const auto& output) { return output.curves.empty(); }) || to_text(report).size() <= limit) return;
  report.curves_thinned = true;
  for (const std::size_t most : {30U, 10U, 3U, 1U, 0U}) {
    thin_curves(report, most);
    if (to_text(report).size() <= limit) return;
  }
}

// Values that are too large for a message are in the record, if there is one. The kubelet would truncate the message, and what is truncated is not a
// valid report.
std::string message_of(result::PodReport report) {
  constexpr auto limit = result::max_termination_message_size;
  shorten_curves(report);
  auto text = to_text(report);
  if (text.size() <= limit) return text;
  report.shortened = true;
  for (auto& output : report.outputs) {
    output.value.reset();
    output.metadata = Json::object();
  }
  text = to_text(report);
  if (text.size() > limit) report.outputs.clear();
  constexpr std::size_t escaped = 6;  // "\u001b"
  for (const auto part : {limit, limit / 2, limit / 2 / escaped}) {
    text = to_text(report);
    if (text.size() <= limit) break;
    report.message = result::beginning_of(std::move(report.message), part);
  }
  return to_text(report);
}

}  // namespace

void log(const std::string& line) {
  if (lines().waiting() > log::Writer::full) return;  // nothing has been read for hours
  lines().text() += fmt::format("trainstep: {}\n", printable(clean(line)));
  lines().commit();
}

void await_told() { lines().finish(reader_timeout); }

void write_termination_message(const result::PodReport& report, const std::string& termination_log) {
  if (report.verdict_class == result::VerdictClass::user && report.message.empty()) return;
  const Fd file(::open(termination_log.c_str(), O_WRONLY | O_TRUNC | O_NONBLOCK | O_CLOEXEC));
  if (file) write_all(file.get(), message_of(clean(report)));
}

void report_error(const Error& error, const std::string& termination_log) {
  const auto verdict = result::from_error(error);
  result::PodReport report;
  report.verdict_class = verdict.verdict_class;
  report.exit_code = result::exit_code(verdict);
  report.message = error.message;
  write_termination_message(report, termination_log);
}

void leave_report(const result::PodReport& report, const std::string& scratch) {
  if (scratch.empty()) return;
  if (const auto written = write_file_atomically(report_file(scratch), to_text(clean(report))); !written) log(written.error().message);
}

int print_report(const std::string& scratch) {
  const auto text = read_regular_file(report_file(scratch), max_report_size);
  if (!text && text.error().kind == ErrorKind::not_found) return 0;
  if (!text) {
    log(text.error().message);
    await_told();
    return 1;
  }
  return write_all(STDOUT_FILENO, *text) == 0 ? 0 : 1;
}

}  // namespace trainstep::agent
