// Folders of TensorBoard logs: those of the real writers (data/make_logs.py), and other files that may be in them.
// SPDX-License-Identifier: Apache-2.0
#include "tensorboard/event_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "data/digest.h"
#include "support/catch.h"
#include "support/temp_dir.h"
#include "support/tensorboard.h"
#include "support/without_root.h"

using namespace trainstep;
using tensorboard::Limits;
using tensorboard::Logs;
using tensorboard::Written;
namespace fs = std::filesystem;

namespace {

struct Folder {
  TempDir folder;

  void write(const std::string& name, const std::string& bytes) const {
    const auto path = folder.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
    REQUIRE(fs::exists(path));
  }
  // Writes the files of one log of data/.
  void write_log(const std::string& writer) const {
    std::ifstream log("tests/unit/tensorboard/data/" + writer + ".txt");
    std::map<std::string, std::string> files;
    std::string name;
    for (std::string line; std::getline(log, line);) {
      if (line.starts_with("file "))
        name = line.substr(5);
      else
        files[name] += from_hex(line).value();
    }
    REQUIRE_FALSE(files.empty());
    for (const auto& [path, bytes] : files) write(path, bytes);
  }
  [[nodiscard]] Logs read(const Written& written = {}, const Limits& limits = {}) const {
    return tensorboard::read_event_files(folder.path(), written, limits);
  }
};

std::string said(const Logs& logs) {
  std::string all;
  for (const auto& series : logs.curves) {
    all += series.name + ":";
    for (const auto& point : series.points) all += fmt::format(" {}={:.6g}", point.x, point.value);
    all += '\n';
  }
  for (const auto& line : logs.told) all += "told " + line + '\n';
  return all;
}

std::string log_of(const std::string& writer) {
  const Folder folder;
  folder.write_log(writer);
  return said(folder.read());
}

// An event of the tag "loss" with its step as value.
std::string loss(int step) { return tb::record(tb::event(step, tb::simple("loss", static_cast<float>(step)))); }

}  // namespace

TEST_CASE("logs of torch.utils.tensorboard are read: both forms of scalars, doubles, add_scalars, hparams") {
  CHECK(log_of("torch") ==
        "Loss/train: 0=1 1=0.5 2=0.333333\naccuracy: 0=0.5 1=0.625 2=0.75\nexact: 0=0 1=0.1 2=0.2\nboth_a/both: 7=1\nboth_b/both: 7=2\n"
        "trial/hparam/score: 0=0.75\n");
}

TEST_CASE("a training run resumed with purge_step is one curve") {
  CHECK(log_of("torch_resumed") == "loss: 0=0 1=1 2=2 3=303 4=304 5=305 6=306 7=307\n");
}

TEST_CASE("logs of tensorboardX are read") { CHECK(log_of("tensorboardX") == "loss: 0=1 1=0.5 2=0.333333\nwith_display_name: 0=0 1=1 2=2\n"); }

TEST_CASE("logs of tf.summary are read, one run per folder") { CHECK(log_of("tf") == "test/loss: 0=0 1=0.5 2=1\ntrain/loss: 0=0 1=0.5 2=1\n"); }

TEST_CASE("logs of TensorFlow 1 are read") { CHECK(log_of("tf1") == "loss: 0=0 1=0.25 2=0.5\n"); }

TEST_CASE("logs of Keras are read: training and validation are two curves") {
  const auto all = log_of("keras");
  CHECK(all.find("train/epoch_loss: 0=1 1=0 2=0\n") != std::string::npos);
  CHECK(all.find("validation/epoch_loss: 0=0 1=0 2=0\n") != std::string::npos);
  CHECK(all.find("told") == std::string::npos);
}

TEST_CASE("files of one run are read in the order of their names, other files not at all") {
  const Folder folder;
  folder.write("events.out.tfevents.2", loss(2));
  folder.write("events.out.tfevents.1", loss(1));
  folder.write("events.out.tfevents.3.profile-empty", loss(3));
  folder.write("model.bin", loss(4));
  folder.write("tfevents", loss(5));
  CHECK(said(folder.read()) == "loss: 1=1 2=2 5=5\n");
}

TEST_CASE("a folder that has no logs or does not exist has no curves") {
  const Folder folder;
  CHECK(said(folder.read()).empty());
  folder.write("model.bin", "weights");
  folder.write("empty.tfevents", "");
  CHECK(said(folder.read()).empty());
  CHECK(said(tensorboard::read_event_files(folder.folder.path() / "nowhere")).empty());
  CHECK(said(tensorboard::read_event_files(folder.folder.path() / "model.bin")).empty());
}

TEST_CASE("an incomplete record is skipped") {
  const auto whole = loss(1) + loss(2);
  for (std::size_t size = loss(1).size(); size < whole.size(); ++size) {
    const Folder folder;
    folder.write("tfevents", whole.substr(0, size));
    CHECK(said(folder.read()) == "loss: 1=1\n");
  }
}

TEST_CASE("a record with a wrong checksum is skipped and reported") {
  const Folder folder;
  auto damaged = loss(2);
  damaged[damaged.size() - 5] ^= 1;  // of the value
  folder.write("run/tfevents", loss(1) + damaged + loss(3));
  CHECK(said(folder.read()) == fmt::format("loss: 1=1 3=3\ntold run/tfevents: ignoring the damaged record at byte {}\n", loss(1).size() + 12));
}

TEST_CASE("a damaged record that may have contained a scalar is reported as well") {
  const Folder folder;
  auto damaged = loss(2);
  for (std::size_t at = 12; at < damaged.size() - 4; ++at) {
    CAPTURE(at);
    damaged[at] ^= 2;
    folder.write("tfevents", loss(1) + damaged + loss(3));
    CHECK(said(folder.read()) == fmt::format("loss: 1=1 3=3\ntold tfevents: ignoring the damaged record at byte {}\n", loss(1).size() + 12));
    damaged[at] ^= 2;
  }
}

TEST_CASE("files numbered by their writers are read in that order") {
  const Folder folder;
  for (int i = 0; i < 12; ++i) folder.write(fmt::format("events.out.tfevents.1795699037.host.12.{}", i), loss(i));
  CHECK(said(folder.read()) == "loss: 0=0 1=1 2=2 3=3 4=4 5=5 6=6 7=7 8=8 9=9 10=10 11=11\n");
}

TEST_CASE("nothing is read after a damaged length, and this is reported") {
  const Folder folder;
  folder.write("tfevents", loss(1) + std::string(20, '\0') + loss(3));
  CHECK(said(folder.read()) == fmt::format("loss: 1=1\ntold tfevents: damaged at byte {}; ignoring the rest\n", loss(1).size()));
}

TEST_CASE("many damaged files are reported in a few lines") {
  const Folder folder;
  for (int i = 0; i < 50; ++i) folder.write(fmt::format("{}.tfevents", i), std::string(20, 'x'));
  const auto told = folder.read().told;
  CHECK(told.size() == 6);
  CHECK(told.back() == "45 more TensorBoard event files or records are damaged");
}

TEST_CASE("anything but a scalar is skipped, however large") {
  const Folder folder;
  const auto path = folder.folder.path() / "tfevents";
  folder.write("tfevents", loss(1));
  constexpr std::uint64_t hole = std::uint64_t{1} << 40U;  // a sparse file: too large to read
  const auto image = tb::key(5, 2) + tb::varint(hole);     // its summary consists of zeros
  std::ofstream(path, std::ios::app | std::ios::binary) << tb::head(image.size() + hole) << image;
  REQUIRE(::truncate(path.c_str(), static_cast<off_t>(fs::file_size(path) + hole + 4)) == 0);
  std::ofstream(path, std::ios::app | std::ios::binary) << loss(2);
  CHECK(said(folder.read()) == "loss: 1=1 2=2\n");
}

TEST_CASE("a scalar next to an image is read") {
  const Folder folder;
  const auto image = tb::text(1, tb::text(1, "picture") + tb::text(4, std::string(1'000'000, 'x')));
  folder.write("tfevents", tb::record(tb::event(1, tb::simple("before", 1) + image + tb::simple("behind", 2))));
  CHECK(said(folder.read()) == "before: 1=1\nbehind: 1=2\n");
}

TEST_CASE("links are not followed, and a FIFO does not block") {
  const Folder folder;
  const TempDir elsewhere;
  std::ofstream(elsewhere.path() / "tfevents", std::ios::binary) << loss(1);
  fs::create_symlink(elsewhere.path() / "tfevents", folder.folder.path() / "tfevents");
  fs::create_directory_symlink(elsewhere.path(), folder.folder.path() / "folder");
  fs::create_directory_symlink(".", folder.folder.path() / "loop");
  REQUIRE(::mkfifo((folder.folder.path() / "fifo.tfevents").c_str(), 0600) == 0);
  CHECK(said(folder.read()).empty());
}

TEST_CASE("an unreadable file is reported") {
  const WithoutRoot without;
  const Folder folder;
  folder.write("tfevents", loss(1));
  fs::permissions(folder.folder.path() / "tfevents", fs::perms::none);
  CHECK(said(folder.read()) == "told tfevents: Permission denied\n");
}

TEST_CASE("only event files written by this training are read") {
  const Folder folder;
  folder.write("a/tfevents", loss(1));
  folder.write("b/tfevents", loss(2));
  CHECK(said(folder.read({.file = [](const std::string& path, const struct stat&) { return path == "/b/tfevents"; }})) == "loss: 2=2\n");
  CHECK(said(folder.read({.since = Time(Duration(1'800'000'000'000))})) ==
        "told ignoring 2 values of TensorBoard event files that are older than the training\n");
}

TEST_CASE("events written just before this training are ignored, unless the clock was set back since") {
  using namespace std::chrono_literals;
  const Folder folder;
  const PathSnapshot before(folder.folder.path().string());
  const tensorboard::Start began{Time(1'700'000'000'000ms)};
  folder.write("tfevents", tb::record(tb::event(1, tb::simple("loss", 1), 1'699'999'999.9)) + tb::record(tb::event(2, tb::simple("loss", 2), 1.7e9)));
  const auto after = [&](Duration by_wall, std::chrono::microseconds by_steady) {
    return said(folder.read(tensorboard::written_since(before, began.earliest({began.wall + by_wall, began.steady + by_steady}))));
  };
  const std::string told = "told ignoring 1 values of TensorBoard event files that are older than the training\n";
  CHECK(after(1s, 1s + 500us) == "loss: 2=2\n" + told);
  CHECK(after(1h, 1s) == "loss: 2=2\n" + told);
  CHECK(after(900ms, 1s) == "loss: 1=1 2=2\n");
}

TEST_CASE("if the limits are exceeded nothing is read, and this is reported") {
  const Folder folder;
  for (int i = 0; i < 3; ++i) folder.write(fmt::format("{}.tfevents", i), loss(i));
  CHECK(said(folder.read({}, {.files = 3})) == "loss: 0=0 1=1 2=2\n");
  CHECK(said(folder.read({}, {.files = 2})) == "told more than 2 TensorBoard event files; ignoring all of them\n");
  CHECK(said(folder.read({}, {.time = std::chrono::milliseconds(-1)})) ==
        "told reading the TensorBoard logs would take more than 0 s; ignoring all of them\n");
}
