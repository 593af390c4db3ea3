// SPDX-License-Identifier: Apache-2.0
#include "sim/network.h"

#include "sim/exchange.h"

namespace trainstep::sim {
namespace {

Reply proxys_504() { return {504, "<html><body><h1>504 Gateway Time-out</h1></body></html>\n", "text/html", {}}; }

}  // namespace

Network::Network(SimLoop& loop, ApiServer& server, Trace& trace, Random random, Faults faults)
    : m_loop(loop), m_server(server), m_trace(trace), m_random(random), m_faults(std::move(faults)) {
  for (const auto& outage : std::exchange(m_faults.outages, {})) add_outage(outage);
}

Network::~Network() { kill(); }

void Network::add_outage(const Outage& outage) {
  m_faults.outages.push_back(outage);
  m_loop.after(std::chrono::duration_cast<Duration>(outage.from - m_loop.now()), [this, outage] {
    m_trace.log("network", "no API server for {}", describe(outage.to - outage.from));
    const auto exchanges = m_exchanges;
    for (const auto& [id, exchange] : exchanges)
      if (outage.sort == Outage::Sort::silent)
        exchange->mute();
      else
        exchange->break_off(Duration{0}, "the connection was reset");
    if (outage.sort == Outage::Sort::refused) m_server.drop_streams();
  });
}

const Outage* Network::outage() const {
  for (const auto& outage : m_faults.outages)
    if (m_loop.now() >= outage.from && m_loop.now() < outage.to) return &outage;
  return nullptr;
}

Duration Network::delay() {
  if (m_random.chance(m_faults.slow)) return m_random.between(m_faults.delay, m_faults.slowest);
  return m_random.between(m_faults.delay / 2, m_faults.delay * 2);
}

http::Transport::Id Network::start(http::Request request, Handler handler) {
  const auto id = m_next++;
  if (m_dead) return id;
  const auto hook = m_hook ? m_hook(++m_calls, request) : (++m_calls, Hook::go);
  if (hook == Hook::die_before_send) {
    m_trace.log("step", "killed before call {}: {} {}", m_calls, request.method, request.url.path);
    m_die();
    return id;
  }
  auto exchange = std::make_shared<Exchange>(*this, id, std::move(request), std::move(handler));
  exchange->death_follows = hook == Hook::die_after_effect;
  exchange->life = m_life;
  m_exchanges.emplace(id, exchange);
  exchange->begin();
  // A request is on its way even when its sender dies.
  m_loop.after(delay(), [this, exchange] { arrive(exchange); });
  return id;
}

void Network::cancel(Id id) {
  const auto found = m_exchanges.find(id);
  if (found == m_exchanges.end()) return;
  const auto exchange = found->second;
  exchange->cancel();
}

void Network::kill() {
  m_dead = true;
  ++m_life;
  const auto exchanges = std::exchange(m_exchanges, {});
  for (const auto& [id, exchange] : exchanges) exchange->cancel();
}

void Network::note(const Exchange& exchange) {
  const auto& request = exchange.request();
  auto what = request.method + " ";
  what.append(request.url.path, request.url.path.find_last_of('/') + 1);
  for (const auto* option : {"watch", "dryRun"})
    if (!asked(request, option).empty()) what.append(" ").append(option);
  const bool blind = request.method == "DELETE" && request.body.find("\"uid\"") == std::string::npos;
  m_requests.push_back({m_loop.now(), exchange.life, std::move(what), blind});
}

// True: the server has nothing to do with it any more.
bool Network::injected(const std::shared_ptr<Exchange>& exchange) {
  if (const auto* now = outage()) {
    if (now->sort == Outage::Sort::gateway) {
      note(*exchange);
      m_trace.log("request", "{} (behind a proxy that answers 504)", exchange->describe());
      const auto nobody = std::make_shared<Exchange>(*this, 0, exchange->request(), Handler{});
      nobody->mute();
      m_server.handle(exchange->request(), nobody);
      ApiServer::reply(exchange, proxys_504());
    } else if (now->sort == Outage::Sort::unavailable) {
      ApiServer::reply(exchange, unavailable());
    } else if (now->sort == Outage::Sort::refused) {
      exchange->break_off(Duration{0}, "connection refused");
    } else {
      exchange->break_off(exchange->request().connect_limit, "no connection within the limit");
    }
    return true;
  }
  const auto& faults = m_faults;
  if (m_random.chance(faults.lost_request)) return exchange->break_off(delay(), "the connection was reset"), true;
  if (m_random.chance(faults.too_many)) return ApiServer::reply(exchange, too_many_requests(static_cast<int>(m_random.between(1, 10)))), true;
  if (m_random.chance(faults.unauthorized)) return ApiServer::reply(exchange, unauthorized()), true;
  if (m_random.chance(faults.server_error)) {
    const auto sort = m_random.between(0, 2);
    ApiServer::reply(exchange, sort == 0   ? unavailable()
                               : sort == 1 ? failure(500, "", "etcdserver: leader changed")
                                           : failure(500, "InternalError", "Internal error occurred: etcdserver: request timed out"));
    return true;
  }
  return misanswered(exchange);
}

// A proxy has responded without forwarding the request.
bool Network::answered_for(const std::shared_ptr<Exchange>& exchange) {
  if (exchange->request().method == "POST" || !m_random.chance(m_faults.hollow)) return false;
  const auto* body = m_random.pick({"", "{}", "null", R"({"kind": "Status", "status": "Success"})", "<html><body>maintenance loss=7</body></html>"});
  m_trace.log("network", "{}: 200 from who does not speak of it: {}", exchange->describe(), body);
  ApiServer::reply(exchange, {200, body, *body == '<' ? "text/html" : "application/json", {}});
  return true;
}

// Answers to a change that say nothing of its object.
bool Network::misanswered(const std::shared_ptr<Exchange>& exchange) {
  if (answered_for(exchange)) return true;
  const auto& method = exchange->request().method;
  if (method != "PATCH" && method != "DELETE") return false;
  const auto odd = [&](double chance, const Reply& reply) {
    if (!m_random.chance(chance)) return false;
    m_trace.log("network", "{}: {} from who does not speak of it", exchange->describe(), reply.code);
    ApiServer::reply(exchange, reply);
    return true;
  };
  const auto path = exchange->request().url.path;
  const auto name = path.substr(path.find_last_of('/') + 1);
  const auto busy = failure(409, "Conflict",
                            "Operation cannot be fulfilled on " + name + ": the object has been modified; please apply your changes to " +
                                "the latest version and try again",
                            {{"name", name}});
  const Reply gateways{404, "<html><body>default backend - 404</body></html>\n", "text/html", {}};
  auto later = m_random.chance(0.5) ? too_many_requests(0) : unavailable();
  std::erase_if(later.headers, [](const http::Header& header) { return header.name == "Retry-After"; });
  later.headers.push_back({"Retry-After", std::to_string(m_random.pick({30, 600, 99'999}))});
  return odd(m_faults.conflict, busy) || odd(m_faults.astray, m_random.chance(0.5) ? gateways : no_such_resource()) ||
         odd(m_faults.just_started, failure(403, "Forbidden", name + " is forbidden: User \"step\" cannot " + method + " it", {{"name", name}})) ||
         odd(m_faults.begs_off, later);
}

// True: an accident has befallen it.
bool Network::hit(const std::shared_ptr<Exchange>& exchange) {
  const auto accident = m_accident ? m_accident(exchange->request()) : Accident::none;
  if (accident == Accident::none) return false;
  const auto request = exchange->request();
  const auto nobody = std::make_shared<Exchange>(*this, 0, request, Handler{});
  nobody->mute();
  if (accident == Accident::late)
    m_loop.after(m_random.between(Duration{100}, Duration{20'000}), [this, request, nobody] {
      m_trace.log("request", "{} {} is only now written", request.method, request.url.path);
      m_server.handle(request, nobody);
    });
  else
    m_server.handle(request, nobody);
  if (accident == Accident::gateway)
    ApiServer::reply(exchange, proxys_504());
  else if (accident == Accident::swallowed)
    exchange->mute();
  else
    exchange->break_off(delay(), "the connection was reset");
  return true;
}

void Network::arrive(const std::shared_ptr<Exchange>& exchange) {
  const bool dies = exchange->death_follows && exchange->life == m_life;
  if (!injected(exchange)) {
    const auto request = exchange->request();
    note(*exchange);
    m_trace.log("request", "{}", exchange->describe());
    WirePtr wire = exchange;
    if (const auto& [chance, lag] = m_late_watches; chance > 0 && asked(request, "watch") == "true" && m_random.chance(chance))
      exchange->lag = m_random.between(Duration{0}, lag);
    if (hit(exchange)) {
      // as it says
    } else if (m_random.chance(m_faults.swallowed) || (request.method == "DELETE" && m_random.chance(m_faults.unanswered))) {
      exchange->mute();
      if (m_random.chance(0.5)) m_server.handle(request, wire);
    } else if (m_random.chance(m_faults.lost_reply)) {
      exchange->mute();
      m_server.handle(request, wire);
      exchange->break_off(delay(), "the connection was reset");
    } else if (request.method != "GET" && m_random.chance(m_faults.gateway)) {
      const auto nobody = std::make_shared<Exchange>(*this, 0, request, Handler{});
      nobody->mute();
      m_server.handle(request, nobody);
      ApiServer::reply(wire, failure(504, "Timeout", "Timeout: request did not complete within requested timeout - context deadline exceeded"));
    } else {
      if (m_random.chance(m_faults.cut))
        exchange->cut_after(static_cast<std::size_t>(m_random.chance(0.2) ? 0 : m_random.between(0, exchange->is_stream() ? 20'000 : 3'000)));
      m_server.handle(request, wire);
      if (exchange->is_stream() && m_random.chance(m_faults.stalled))
        m_loop.after(m_random.between(Duration{0}, Duration{120'000}), [exchange] { exchange->mute(); });
    }
  }
  if (!dies) return;
  m_trace.log("step", "killed after call: {}", exchange->describe());
  m_die();
}

}  // namespace trainstep::sim
