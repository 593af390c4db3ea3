// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <utility>

#include "staging/staging.h"

namespace trainstep::staging {
namespace {

constexpr Duration between_lines{30'000};

std::string describe_bytes(std::int64_t bytes) {
  constexpr std::array<const char*, 5> units{"B", "kB", "MB", "GB", "TB"};
  constexpr double step = 1000;
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= step && unit + 1 < units.size()) {
    number /= step;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", number, units.at(unit));
}

}  // namespace

std::string describe(const Staged& staged) {
  return fmt::format("{} file{}, {} in {}", staged.files, staged.files == 1 ? "" : "s", describe_bytes(staged.bytes),
                     trainstep::describe(staged.took));
}

Fetching::Fetching(Stores& stores, const std::vector<plan::TaskInput>& inputs, StagingSink sink)
    : m_stores(stores),
      m_inputs(inputs),
      m_sink(std::move(sink)),
      m_began(stores.loop().now()),
      m_timer(stores.loop().after(Duration(0), [this] { next(); })) {}

Fetching::~Fetching() { m_stores.loop().cancel(m_timer); }

void Fetching::next() {
  m_listing.reset();
  m_transfer.reset();
  if (m_at == m_inputs.size()) return finish(m_staged);
  auto from = objectstore::Address::parse(input().from.uri);
  if (!from) return finish(std::move(from.error()));
  m_listing = std::make_unique<objectstore::Listing>(m_stores.of(input().from), *from, [this](auto there) {
    if (!there) return finish(std::move(there.error().error));
    fetch(*there);
  });
}

void Fetching::fetch(const std::vector<objectstore::Object>& there) {
  if (there.empty()) return finish(input_error(fmt::format("nothing lies at {}", input().from.uri)));
  auto plan = objectstore::plan_download(there, {}, {});
  if (!plan) return finish(std::move(plan.error()));
  m_size = plan->bytes;
  m_count = plan->travels.size();
  m_moved = 0;
  m_told = m_stores.loop().now();
  const auto from = objectstore::Address::parse(input().from.uri);
  m_transfer = objectstore::download(m_stores.of(input().from), std::move(*plan), input().path, *from,
                                     {[this](std::int64_t bytes) {
                                        m_moved += bytes;
                                        if (m_stores.loop().now() - m_told < between_lines) return;
                                        m_told = m_stores.loop().now();
                                        m_sink.tell(fmt::format("input {}: {} of {}", input().name, describe_bytes(m_moved), describe_bytes(m_size)));
                                      },
                                      [this](Result<objectstore::KnownFiles> files) {
                                        if (!files) return finish(std::move(files.error()));
                                        m_staged.bytes += m_size;
                                        m_staged.files += m_count;
                                        ++m_at;
                                        m_timer = m_stores.loop().after(Duration(0), [this] { next(); });
                                      }},
                                     m_stores.limits());
}

void Fetching::finish(Result<Staged> result) {
  if (!result) result = in_context(fmt::format("input {}", input().name), std::move(result.error()));
  if (result) result->took = std::chrono::duration_cast<Duration>(m_stores.loop().now() - m_began);
  m_timer =
      m_stores.loop().after(Duration(0), [this, result = std::move(result)]() mutable { std::exchange(m_sink.done, nullptr)(std::move(result)); });
}

}  // namespace trainstep::staging
