// SPDX-License-Identifier: Apache-2.0
#include "plan/task.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "data/fields.h"

namespace trainstep::plan {
namespace {

using spec::Type;

constexpr std::array<std::pair<Type, std::string_view>, 8> type_words{{{Type::string, "STRING"},
                                                                       {Type::integer, "NUMBER_INTEGER"},
                                                                       {Type::number, "NUMBER_DOUBLE"},
                                                                       {Type::boolean, "BOOLEAN"},
                                                                       {Type::list, "LIST"},
                                                                       {Type::object, "STRUCT"},
                                                                       {Type::any, "ANY"},
                                                                       {Type::artifact, "artifact"}}};

std::string word_of(Type type) {
  for (const auto& [known, word] : type_words)
    if (known == type) return std::string(word);
  return "ANY";
}

Result<Type> type_of(const std::string& word) {
  for (const auto& [type, known] : type_words)
    if (known == word) return type;
  return input_error(fmt::format("unknown type in the task: {}; does the agent have another version?", word));
}

void put(Json& object, const char* key, const std::string& value) {
  if (!value.empty()) object[key] = value;
}

void put(Json& object, const TaskPlace& place) {
  if (place.in_store()) {
    object["uri"] = place.uri;
    object["store"] = place.store;
  } else {
    put(object, "path", place.path);
  }
}

Json to_json(const TaskStore& store) {
  Json json = {{"endpoint", store.endpoint}, {"region", store.region}, {"path_style", store.path_style}};
  put(json, "ca_file", store.ca_file);
  put(json, "access_key_file", store.access_key_file);
  put(json, "secret_key_file", store.secret_key_file);
  put(json, "signing_keys_file", store.signing_keys_file);
  return json;
}

Json to_json(const TaskOutput& output) {
  Json json = {{"name", output.name}, {"type", word_of(output.type)}, {"path", output.path}};
  put(json, "declared", output.declared);
  put(json, "folder_is", output.folder_is);
  if (output.to.in_store()) put(json, output.to);
  if (output.file) json["file"] = true;
  return json;
}

// Strict parsing: a wrong shape is an error, nothing is guessed.
class Reader {
 public:
  Reader(const Json& json, std::string where) : m_fields(json, std::move(where)) {}
  std::string text(std::string_view key) { return m_fields.text(key).value_or(""); }
  std::size_t index(std::string_view key) {
    constexpr std::int64_t most = 1000;
    return static_cast<std::size_t>(m_fields.integer(key, 0, most).value_or(0));
  }
  TaskPlace place_in_store() { return {text("uri"), index("store"), ""}; }
  Fields& fields() { return m_fields; }
  template <typename T>
  Result<T> done(T value) {
    TRY(m_fields.fits());
    return value;
  }

 private:
  Fields m_fields;
};

Result<TaskStore> read_store(const Json& json) {
  Reader reader(json, "task: store");
  TaskStore store;
  store.endpoint = reader.text("endpoint");
  if (auto region = reader.text("region"); !region.empty()) store.region = std::move(region);
  store.path_style = reader.fields().boolean("path_style").value_or(true);
  store.ca_file = reader.text("ca_file");
  store.access_key_file = reader.text("access_key_file");
  store.secret_key_file = reader.text("secret_key_file");
  store.signing_keys_file = reader.text("signing_keys_file");
  return reader.done(std::move(store));
}

Result<TaskInput> read_input(const Json& json) {
  Reader reader(json, "task: input");
  return reader.done(TaskInput{reader.text("name"), reader.text("path"), reader.place_in_store()});
}

Result<TaskOutput> read_output(const Json& json) {
  Reader reader(json, "task: output");
  TaskOutput output;
  output.name = reader.text("name");
  const auto type = reader.text("type");
  TRY(reader.fields().fits());
  ASSIGN(output.type, type_of(type));
  output.declared = reader.text("declared");
  output.path = reader.text("path");
  output.folder_is = reader.text("folder_is");
  output.to = reader.place_in_store();
  output.file = reader.fields().boolean("file").value_or(false);
  return reader.done(std::move(output));
}

template <typename T>
Result<void> read_all(Fields& fields, std::string_view key, std::vector<T>& into, Result<T> (*read)(const Json&)) {
  for (const auto& item : fields.list(key).value_or(Json::array())) {
    ASSIGN(auto one, read(item));
    into.push_back(std::move(one));
  }
  return {};
}

std::int64_t seconds(Duration duration) { return std::chrono::ceil<std::chrono::seconds>(duration).count(); }

Result<void> check_stores(const Task& task) {
  const auto known = [&](const TaskPlace& place) { return !place.in_store() || place.store < task.stores.size(); };
  bool all = known(task.record) && known(task.checkpoints.to) && known(task.lease.inputs);
  for (const auto& input : task.inputs) all = all && known(input.from);
  for (const auto& output : task.outputs) all = all && known(output.to);
  if (!all) return input_error("task: an address refers to a store that is not in \"stores\"");
  return {};
}

}  // namespace

Duration TaskLease::interval() const { return std::clamp(length / 6, shortest_lease / 6, Duration(300'000)); }

std::filesystem::path place_on_claim(const TaskOutput& output) {
  return std::filesystem::path(output.folder_is) / std::filesystem::path(output.path).filename();
}

Json to_json(const Task& task) {
  Json json = {{"job", task.job}, {"attempt", task.attempt}, {"stores", Json::array()}, {"inputs", Json::array()}, {"outputs", Json::array()}};
  for (const auto& store : task.stores) json["stores"].push_back(to_json(store));
  for (const auto& input : task.inputs) {
    auto& entry = json["inputs"].emplace_back(Json{{"name", input.name}});
    put(entry, input.from);
    entry["path"] = input.path;
  }
  for (const auto& output : task.outputs) json["outputs"].push_back(to_json(output));
  put(json, "executor_output_file", task.executor_output_file);
  if (!task.checkpoints.path.empty()) {
    auto& entry = json["checkpoints"] = {{"folder", task.checkpoints.path}};
    put(entry, task.checkpoints.to);
  }
  if (task.record.somewhere()) put(json["record"], task.record);
  if (task.lease.wanted()) {
    auto& entry = json["lease"] = {{"length", seconds(task.lease.length)}, {"grace", seconds(task.lease.grace)}};
    put(entry, task.lease.inputs);
    if (task.lease.expected) entry["expected"] = true;
  }
  json["finishing_limit"] = seconds(task.finishing_limit);
  return json;
}

Result<Task> read_task(const Json& json) {
  Reader reader(json, "task");
  Task task;
  task.job = reader.text("job");
  task.attempt = reader.text("attempt");
  TRY(read_all(reader.fields(), "stores", task.stores, read_store));
  TRY(read_all(reader.fields(), "inputs", task.inputs, read_input));
  TRY(read_all(reader.fields(), "outputs", task.outputs, read_output));
  task.executor_output_file = reader.text("executor_output_file");
  const auto checkpoints = reader.fields().object("checkpoints").value_or(Json::object());
  Reader kept(checkpoints, "task: checkpoints");
  task.checkpoints = {kept.text("folder"), kept.place_in_store()};
  TRY(kept.fields().fits());
  const auto record = reader.fields().object("record").value_or(Json::object());
  Reader place(record, "task: record");
  task.record = place.place_in_store();
  task.record.path = place.text("path");
  TRY(place.fields().fits());
  constexpr std::int64_t longest = std::int64_t{100} * 366 * 24 * 3600;
  if (const auto limit = reader.fields().integer("finishing_limit", 0, longest)) task.finishing_limit = std::chrono::seconds(*limit);
  const auto lease = reader.fields().object("lease").value_or(Json::object());
  Reader held(lease, "task: lease");
  if (const auto length = held.fields().integer("length", 0, longest)) task.lease.length = std::chrono::seconds(*length);
  if (const auto grace = held.fields().integer("grace", 0, longest)) task.lease.grace = std::chrono::seconds(*grace);
  task.lease.inputs = held.place_in_store();
  task.lease.expected = held.fields().boolean("expected").value_or(false);
  TRY(held.fields().fits());
  TRY(reader.fields().fits());
  TRY(check_stores(task));
  return task;
}

}  // namespace trainstep::plan
