// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <utility>

#include "data/secrets.h"
#include "kube/client_call.h"

namespace trainstep::kube {
namespace {

constexpr auto page_size = "50";
constexpr auto accept_metadata_list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

void set_header(http::Request& request, const std::string& name, const std::string& value) {
  for (auto& header : request.headers)
    if (header.name == name) {
      header.value = value;
      return;
    }
  request.headers.push_back({name, value});
}

void set_body(http::Request& request, const std::string& type, const Json& value) {
  set_header(request, "Content-Type", type);
  request.body = to_text(value);
}

// "create pytorchjobs/train-1": the collection's path does not contain the name.
std::string describe_new(const Path& path, const Json& object) {
  const auto* metadata = object.is_object() ? find(object, "metadata") : nullptr;
  const auto* name = metadata != nullptr && metadata->is_object() ? find(*metadata, "name") : nullptr;
  return "create " + path.describe() + (name != nullptr && name->is_string() ? "/" + name->get<std::string>() : "");
}

// The items in the list of a built-in kind lack apiVersion and kind.
void name_kind(Json& item, const std::string& version, const std::string& list_kind) {
  constexpr std::string_view suffix = "List";
  if (!item.is_object() || item.contains("kind") || !list_kind.ends_with(suffix)) return;
  item["apiVersion"] = version;
  item["kind"] = list_kind.substr(0, list_kind.size() - suffix.size());
}

}  // namespace

PendingCall Client::get(const Path& path, const http::Query& query, Retry retry, Done done) {
  const auto id = begin(request("GET", path, query), "get " + path.describe(), retry, std::move(done));
  if (path.subresource.empty()) m_calls.at(id)->names = path.name;
  return {*this, id};
}

PendingCall Client::list(const Path& path, const http::Query& query, Retry retry, Done done, Shape shape) {
  auto first = request("GET", path, query);
  first.url.query.emplace_back("limit", page_size);
  if (shape.metadata_only) set_header(first, "Accept", accept_metadata_list);
  const auto id = begin(std::move(first), "list " + path.describe(), retry, std::move(done));
  auto& listing = m_calls.at(id)->listing = std::make_unique<Listing>();
  listing->shape = std::move(shape);
  return {*this, id};
}

PendingCall Client::create(const Path& path, const Json& object, bool dry_run, Retry retry, Done done) {
  http::Query query{{"fieldValidation", "Strict"}};
  if (dry_run) query.emplace_back("dryRun", "All");
  auto post = request("POST", path, query);
  set_body(post, "application/json", object);
  const auto id = begin(std::move(post), describe_new(path, object), retry, std::move(done));
  if (path.plural == "secrets") m_calls.at(id)->secrets = values_of_secret(object);
  return {*this, id};
}

PendingCall Client::merge_patch(const Path& path, const Json& patch, Retry retry, Done done) {
  auto sent = request("PATCH", path, {});
  set_body(sent, "application/merge-patch+json", patch);
  const auto id = begin(std::move(sent), "patch " + path.describe(), retry, std::move(done));
  auto& call = *m_calls.at(id);
  call.changes = call.names = path.name;
  const auto* metadata = find(patch, "metadata");
  call.versioned = metadata != nullptr && metadata->is_object() && find(*metadata, "resourceVersion") != nullptr;
  return {*this, id};
}

PendingCall Client::apply(const Path& path, const Json& object, Retry retry, Done done) {
  auto sent = request("PATCH", path, {{"fieldManager", "trainstep"}, {"force", "true"}});
  set_body(sent, "application/apply-patch+yaml", object);  // JSON is YAML
  const auto id = begin(std::move(sent), "apply " + path.describe(), retry, std::move(done));
  auto& call = *m_calls.at(id);
  call.names = path.name;
  if (path.plural == "secrets") call.secrets = values_of_secret(object);
  return {*this, id};
}

PendingCall Client::remove(const Path& path, Propagation propagation, const Preconditions& preconditions, Retry retry, Done done) {
  constexpr const char* policies[] = {"Foreground", "Background", "Orphan"};
  Json options{{"kind", "DeleteOptions"}, {"apiVersion", "v1"}, {"propagationPolicy", policies[static_cast<int>(propagation)]}};
  options["preconditions"]["uid"] = preconditions.uid;
  if (!preconditions.version.empty()) options["preconditions"]["resourceVersion"] = preconditions.version;
  if (preconditions.uid.empty()) return {*this, refuse(internal_error(fmt::format("delete {}: unknown object", path.describe())), std::move(done))};
  auto sent = request("DELETE", path, {});
  set_body(sent, "application/json", options);
  const auto id = begin(std::move(sent), "delete " + path.describe(), retry, std::move(done));
  m_calls.at(id)->names = path.name;
  return {*this, id};
}

Answer Client::next_page(Call& call, Json page) {
  auto& listing = *call.listing;
  const auto* items = page.is_object() ? find(page, "items") : nullptr;
  if (!page.is_object() || !page.contains("items") || (items != nullptr && !items->is_array()))
    return tl::unexpected(ApiError{{ErrorKind::unavailable, call.what + ": the answer is not a list"}, 0, {}, {}, {}});
  const auto version = text_of(page, "apiVersion");
  const auto kind = text_of(page, "kind");
  if (items != nullptr) {
    for (auto& item : page["items"]) {
      name_kind(item, version, kind);
      if (listing.shape.trim) listing.shape.trim(item);
      listing.items.push_back(std::move(item));
    }
  }
  const auto* found = find(page, "metadata");
  const auto metadata = found != nullptr ? *found : Json::object();
  auto& query = call.request.url.query;
  std::erase_if(query, [](const auto& pair) { return pair.first == "continue"; });
  if (const auto token = text_of(metadata, "continue"); !token.empty()) {
    if (!listing.tokens.insert(token).second)
      return tl::unexpected(ApiError{internal_error(call.what + ": the API server repeated a continue token, the list does not end"), 0, {}, {}, {}});
    query.emplace_back("continue", token);
    return Json();
  }
  return Json{{"metadata", {{"resourceVersion", text_of(metadata, "resourceVersion")}}}, {"items", std::move(listing.items)}};
}

}  // namespace trainstep::kube
