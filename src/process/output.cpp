// SPDX-License-Identifier: Apache-2.0
#include "process/output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace trainstep::process {
namespace {

constexpr std::size_t chunk = std::size_t{128} << 10U;
constexpr int max_drained = 64;  // chunks: more than any pipe holds, so that a process that keeps writing cannot delay us

}  // namespace

std::span<char> LineAssembler::space() {
  const auto unfinished = m_end - m_begin;
  if (m_begin > 0) {
    std::memmove(m_buffer.get(), m_buffer.get() + m_begin, unfinished);
    m_begin = 0;
    m_end = unfinished;
  }
  // One byte is reserved for the newline of a line without one.
  if (m_capacity < m_end + chunk + 1) {
    m_capacity = std::max(m_capacity * 2, m_end + chunk + 1);
    auto larger = std::make_unique_for_overwrite<char[]>(m_capacity);
    if (m_end > 0) std::memcpy(larger.get(), m_buffer.get(), m_end);
    m_buffer = std::move(larger);
  }
  return {m_buffer.get() + m_end, std::min(chunk, max_line_length + 1 - unfinished)};  // makes all cuts at the same length
}

std::string_view LineAssembler::add(std::size_t count) {
  const std::string_view fresh(m_buffer.get() + m_end, count);
  const auto last_newline = fresh.rfind('\n');
  const auto line_begin = m_begin;
  const auto fresh_begin = m_end;
  m_end += count;
  if (last_newline == std::string_view::npos) return m_end - m_begin > max_line_length ? cut() : std::string_view{};
  m_begin = fresh_begin + last_newline + 1;
  return {m_buffer.get() + line_begin, m_begin - line_begin};
}

// A progress bar redrawn for days is still one line.
std::string_view LineAssembler::cut() {
  const auto begun = unfinished();
  const auto state = begun.find_last_not_of('\r') == std::string_view::npos ? begun.size() : begun.rfind('\r', begun.find_last_not_of('\r'));
  if (state == std::string_view::npos || state == 0) return finish();
  m_begin += state;
  return {};
}

std::string_view LineAssembler::finish() {
  if (m_begin == m_end) return {};
  m_buffer[m_end++] = '\n';
  const std::string_view line(m_buffer.get() + m_begin, m_end - m_begin);
  m_begin = m_end;
  return line;
}

OutputReader::OutputReader(PollLoop& loop, Fd pipe, Lines lines, std::function<void()> ended)
    : m_loop(loop), m_pipe(std::move(pipe)), m_lines(std::move(lines)), m_ended(std::move(ended)) {
  listen();
}

OutputReader::~OutputReader() { close(); }

void OutputReader::listen() {
  m_loop.on_readable(m_pipe.get(), [this] { read(); });
}

void OutputReader::hold(bool held) {
  if (!m_pipe || std::exchange(m_held, held) == held) return;
  held ? m_loop.forget(m_pipe.get()) : listen();
}

void OutputReader::take_all() {
  if (!m_pipe) return;
  Step step = Step::more;
  for (int chunks = 0; chunks < max_drained && step == Step::more; ++chunks) step = read_chunk();
  if (step == Step::end) close();
}

void OutputReader::read() {
  if (!m_pipe || read_chunk() != Step::end) return;
  close();
  const auto ended = std::move(m_ended);
  ended();
}

void OutputReader::drain() {
  take_all();
  if (!m_pipe) return;
  if (const auto rest = m_assembler.finish(); !rest.empty()) m_lines(rest);
  close();
}

OutputReader::Step OutputReader::read_chunk() {
  const auto space = m_assembler.space();
  const auto count = ::read(m_pipe.get(), space.data(), space.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR ? Step::more : Step::empty;
  const auto lines = count > 0 ? m_assembler.add(static_cast<std::size_t>(count)) : m_assembler.finish();
  if (!lines.empty()) m_lines(lines);
  if (count > 0 && m_unfinished)
    if (const auto begun = m_assembler.unfinished(); !begun.empty()) m_unfinished(begun);
  return count > 0 ? Step::more : Step::end;
}

void OutputReader::close() {
  if (!m_pipe) return;
  m_loop.forget(m_pipe.get());
  m_pipe.close();
}

}  // namespace trainstep::process
