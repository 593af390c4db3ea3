// SPDX-License-Identifier: Apache-2.0
#include "staging/delivery.h"

#include <fmt/format.h>

#include <algorithm>

namespace trainstep::staging {
namespace {

constexpr Duration first_pause{1'000};
constexpr Duration max_pause{60'000};
// Out of the 30 s that the kubelet grants: uploads that are nearly complete may still finish; the rest of the time is for removing objects.
constexpr Duration to_finish{5'000};
constexpr Duration to_retract{15'000};

}  // namespace

Delivery::Delivery(Stores& stores, std::vector<plan::TaskOutput> outputs, Duration limit, StagingSink sink, DeliveryOptions options)
    : m_stores(stores),
      m_outputs(std::move(outputs)),
      m_sink(std::move(sink)),
      m_options(std::move(options)),
      m_limit(stores.loop()),
      m_began(stores.loop().now()),
      m_written(stores, m_options.written, m_options.mark),
      m_pause(first_pause),
      m_timer(stores.loop().timer(Duration(0), [this] { next(); })) {
  m_limit.set(limit);
  if (std::ranges::all_of(m_outputs, [this](const auto& output) { return m_options.is_own(output.to.uri); })) m_written.do_without();
  if (limit > Duration(0)) m_hurry_timer = m_stores.loop().timer(limit, [this] { m_stores.hurry(); });
}

void Delivery::next() {
  if (m_at < m_outputs.size() && !m_output) m_output = delivery_of_output();
  if (!m_written.is_loaded()) return load_written();
  if (m_at == m_outputs.size()) return finish(m_staged);
  m_output->begin(m_pause == first_pause);
}

// Credentials without read permission find none: then nothing is removed.
void Delivery::load_written() {
  if (const auto valid = m_written.check(); !valid) return finish(valid.error());
  m_written.load([this](Result<void> loaded) { loaded ? next() : failed(std::move(loaded.error())); });
}

std::unique_ptr<OutputDelivery> Delivery::delivery_of_output() {
  OutputDelivery::Context context{m_stores, output(), m_options, m_limit, m_written, m_staged, m_sink.log};
  context.put = [this](const objectstore::Address& address) { m_put.insert_or_assign({output().to.store, address.text()}, address); };
  return std::make_unique<OutputDelivery>(
      std::move(context),
      OutputDelivery::Sink{[this] { next_output(); }, [this](Error why) { failed(std::move(why)); }, [this](Error why) { finish(std::move(why)); },
                           [this](Error why) { withdraw(std::move(why)); }, [this] { retract(); }});
}

void Delivery::next_output() {
  ++m_at;
  m_pause = first_pause;
  m_timer = m_stores.loop().timer(Duration(0), [this] {
    m_output.reset();
    next();
  });
}

void Delivery::failed(Error error) {
  if (auto vain = m_output->why_vain(error)) return withdraw(std::move(*vain));
  if (m_limit.passed()) {
    // A request that the store rejects (400: an expired token, for example) is not the fault of the program whose output it is.
    if (error.kind == ErrorKind::input) error.kind = ErrorKind::denied;
    return finish(std::move(error));
  }
  m_sink.log(fmt::format("{} {}: {}; trying again in {}", m_options.what, output().name, error.message, trainstep::describe(m_pause)));
  m_timer = m_stores.loop().timer(m_pause, [this] { next(); });
  m_pause = std::min(m_pause * 2, max_pause);
}

void Delivery::stop(Error why) {
  if (!m_sink.done || m_ending) return;
  if (std::exchange(m_stopped, true)) return stop_now();
  m_stop_reason = std::move(why);
  m_stop_timer = m_stores.loop().timer(to_finish, [this] { stop_now(); });
}

// Retrying cannot deliver files that have changed or cannot be read.
void Delivery::withdraw(Error why) {
  m_stopped = true;
  m_stop_reason = std::move(why);
  stop_now();
}

void Delivery::stop_now() {
  m_ending = true;
  m_stop_timer = m_stores.loop().timer(to_retract, [this] {
    if (m_output) m_output->abandon();
    m_removal.reset();
    m_timer.cancel();
    finish(m_stop_reason);
  });
  m_timer.cancel();
  m_written.cancel();
  m_output ? m_output->stop(m_stop_reason) : retract();
}

// Removes the objects of all outputs so far: without the record of the finished training, nothing says that they are complete.
void Delivery::retract() {
  if (m_put.empty()) return finish(m_stop_reason);
  const auto store = m_put.begin()->first.first;
  std::vector<objectstore::Address> objects;
  for (auto at = m_put.begin(); at != m_put.end() && at->first.first == store; at = m_put.erase(at)) objects.push_back(at->second);
  m_removal = std::make_unique<objectstore::Removal>(m_stores.of({"", store, ""}), std::move(objects), m_written.objects().mark(),
                                                     [this](const auto&) { m_timer = m_stores.loop().timer(Duration(0), [this] { retract(); }); });
}

void Delivery::finish(Result<Staged> result) {
  m_ending = true;
  if (!result && m_at < m_outputs.size()) result = in_context(fmt::format("{} {}", m_options.what, output().name), std::move(result.error()));
  if (result) result->took = std::chrono::duration_cast<Duration>(m_stores.loop().now() - m_began);
  m_stop_timer.cancel();
  m_timer =
      m_stores.loop().timer(Duration(0), [this, result = std::move(result)]() mutable { std::exchange(m_sink.done, nullptr)(std::move(result)); });
}

}  // namespace trainstep::staging
