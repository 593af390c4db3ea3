// SPDX-License-Identifier: Apache-2.0
#include "result/metric_patterns.h"

#include <fmt/format.h>

#include "base/max_line_length.h"
#include "result/metric_line.h"
#include "result/metrics.h"
#include "support/catch.h"
#include "support/cpu_time.h"

using namespace trainstep;
using namespace trainstep::result;

namespace {

using Definitions = std::vector<MetricDefinition>;

MetricReader reader_of(const Definitions& definitions) {
  const auto checked = check_definitions(definitions);
  INFO((checked ? "" : checked.error().message));
  REQUIRE(checked);
  return MetricReader(std::make_shared<MetricPatterns>(definitions));
}

std::string show(const MetricReader& reader) {
  std::string text;
  for (const auto& series : reader.series()) {
    const auto& point = series.points.back();
    text += fmt::format("{}{}={:g}", text.empty() ? "" : " ", series.name, point.value);
    if (series.axis != MetricSeries::Axis::count) text += fmt::format("@{}{:g}", series.axis == MetricSeries::Axis::step ? "step" : "epoch", point.x);
  }
  const auto& progress = reader.progress();
  if (progress.epoch) text += fmt::format(" {}/{}", *progress.epoch, progress.epochs ? std::to_string(*progress.epochs) : "-");
  return text;
}

std::string said(const Definitions& definitions, std::string_view line) {
  auto reader = reader_of(definitions);
  reader.feed(line, Time{});
  return show(reader);
}

std::string refused(const std::string& regex) {
  const auto checked = check_definitions({{"loss", regex}});
  return checked ? "" : checked.error().message;
}

}  // namespace

TEST_CASE("the first group of a pattern is the value") {
  struct Row {
    const char* regex;
    const char* line;
    const char* said;
  };
  const Row rows[] = {
      {"loss is ([0-9.]+)", "the loss is 0.25 now", "loss=0.25"},
      {"loss is ([0-9.]+)", "the loss is 0.25 now\n", "loss=0.25"},
      {"loss is ([0-9.]+)", "the gain is 0.25 now", ""},
      {"^Verlust (\\S+)$", "Verlust 1e-3", "loss=0.001"},
      {"^Verlust (\\S+)$", "der Verlust 1e-3", ""},
      {"Fehler: (\\S+)", "Fehler: nan", "loss=nan"},
      {"Fehler: (\\S+)", "Fehler: -inf", "loss=-inf"},
      {"Fehler: (\\S+)", "Fehler: 91.2%", "loss=91.2"},
      {"Fehler: (\\S+)", "Fehler: 3/4", "loss=0.75"},
      {"Fehler: (\\S+)", "Fehler: 3/0", ""},
      {"Fehler: (.*)", "Fehler:  +0.5 ", "loss=0.5"},
      {"Fehler: (\\S+)", "Fehler: 1,234.5", ""},
      {"Fehler: (\\S+)", "Fehler: keiner", ""},
      {"Fehler: (\\S*)", "Fehler: ", ""},
      {"Fehler: ([0-9.]+)", "Fehler: 10ms", "loss=10"},
      {"Fehler(?: ist ([0-9.]+))?", "Fehler", ""},
      {"(?:Verlust|Fehler) (?P<value>[0-9.]+)", "Fehler 0.5", "loss=0.5"},
      {"größe ([0-9.]+)", "größe 7", "loss=7"},
      {"gr.ße ([0-9.]+)", "größe 7", "loss=7"},
      {"(?i)LOSS IS ([0-9.]+)", "loss is 7", "loss=7"},
      {"loss ([0-9.]+) of ([0-9.]+)", "loss 0.5 of 7", "loss=0.5"},
      {"((loss) ([0-9.]+))", "loss 0.5", ""},
      {"loss (?:is ([0-9.]+)|was ([0-9.]+))", "loss was 7", ""},
  };
  for (const auto& row : rows) {
    CAPTURE(row.regex, row.line);
    CHECK(said({{"loss", row.regex}}, row.line) == row.said);
  }
}

// As the examples of Hugging Face and AWS have them.
TEST_CASE("definitions that were written for SageMaker are read as there") {
  const Definitions trainer{{"loss", "'loss': ([0-9]+(.|e\\-)[0-9]+),?"},
                            {"learning_rate", "'learning_rate': ([0-9]+(.|e\\-)[0-9]+),?"},
                            {"eval_loss", "'eval_loss': ([0-9]+(.|e\\-)[0-9]+),?"}};
  CHECK(said(trainer, "{'loss': 0.6931, 'learning_rate': 5e-05, 'epoch': 0.5}") == "loss=0.6931@epoch0.5 learning_rate=5e-05@epoch0.5 0/-");
  CHECK(said(trainer, "{'eval_loss': 0.5, 'eval_runtime': 3.1, 'epoch': 1.0}") == "eval_runtime=3.1@epoch1 eval_loss=0.5@epoch1 1/-");
  const Definitions boosting{{"train:error", "\\[[0-9]+\\].*#011train-error:([-+]?[0-9]*\\.?[0-9]+(?:[eE][-+]?[0-9]+)?).*"},
                             {"validation:error", ".*\\[[0-9]+\\].*#011validation-error:([-+]?[0-9]*\\.?[0-9]+(?:[eE][-+]?[0-9]+)?).*"}};
  CHECK(said(boosting, "[12]#011train-error:0.0625#011validation-error:0.125").find("train:error=0.0625") != std::string::npos);
  CHECK(said(boosting, "[12]#011train-error:0.0625#011validation-error:0.125").find("validation:error=0.125") != std::string::npos);
}

TEST_CASE("the matches of each definition are recorded, whichever process read the line") {
  using Found = MetricPatterns::Found;
  const auto patterns =
      std::make_shared<MetricPatterns>(Definitions{{"loss", "loss is (\\S+)"}, {"acc", "acc is (\\S+)"}, {"f1", "f1 is (\\S+)"}, {"x", "("}});
  const auto found = [&] { return std::vector{patterns->found(0), patterns->found(1), patterns->found(2), patterns->found(3)}; };
  MetricReader first(patterns), second(patterns);
  first.feed("nothing", Time{});
  CHECK(found() == std::vector{Found::nothing, Found::nothing, Found::nothing, Found::nothing});
  first.feed("loss is 0.5, acc is unknown", Time{});
  CHECK(found() == std::vector{Found::number, Found::no_number, Found::nothing, Found::nothing});
  second.feed("loss is unknown, f1 is 0.5", Time{});
  CHECK(found() == std::vector{Found::number, Found::no_number, Found::number, Found::nothing});
  second.feed("acc is 0.5", Time{});
  CHECK(found() == std::vector{Found::number, Found::number, Found::number, Found::nothing});
}

TEST_CASE("of several matches in a line the last one with a number is used") {
  CHECK(said({{"loss", "loss ([0-9.]+)"}}, "loss 0.5, loss 0.25; loss .") == "loss=0.25");
  CHECK(said({{"loss", "([0-9.]*)"}}, "0.5 0.25 and no more") == "loss=0.25");
  std::string many;
  for (int i = 1; i <= 300; ++i) many += fmt::format("{} ", i);
  CHECK(many.size() > 1000);
  CHECK(said({{"loss", "([0-9]+)"}}, many) == "loss=300");
  CHECK(said({{"loss", "([0-9]+)"}}, many + std::string(2000, 'x') + " 7") == "loss=7");
  CHECK(said({{"loss", "([0-9]+)"}}, many + std::string(2000, ' ') + "x") == "loss=300");
  CHECK(said({{"loss", "([0-9]+)"}}, many + std::string(2000, 'x')) == "loss=300");
  CHECK(said({{"loss", "([0-9]*)"}}, many + std::string(2000, 'x') + " 7 x") == "loss=7");
  CHECK(said({{"loss", "([0-9]+)"}}, "1 2 3" + std::string(2000, ' ') + "x") == "loss=3");
}

TEST_CASE("the last match of a long line is used, however many there are and wherever it is") {
  const Definitions definitions{{"x", "v: (\\d+)"}};
  for (const int matches : {1, 9, 10, 11, 12, 25, 400}) {
    std::string line;
    for (int i = 1; i <= matches; ++i) line += fmt::format("v: {} ", i);
    for (const std::size_t more : {10, 900, 1001, 2000, 20000}) {
      CAPTURE(matches, more);
      CHECK(said(definitions, line + std::string(more, 'x')) == fmt::format("x={}", matches));
      CHECK(said(definitions, std::string(more, 'x') + " " + line) == fmt::format("x={}", matches));
    }
    // Its last is not a number: no value is better than an earlier one.
    if (matches > 10) CHECK(said({{"x", "v: (\\S+)"}}, line + "v: ? " + std::string(2000, 'x')).empty());
  }
}

TEST_CASE("a definition reads the line as it was drawn last, without colours and the prefix of a rank") {
  const Definitions definitions{{"loss", "^Verlust ([0-9.]+)$"}};
  CHECK(said(definitions, "Verlust 0.9\rVerlust 0.5\r\n") == "loss=0.5");
  CHECK(said(definitions, "\x1B[1mVerlust \x1B[32m0.5\x1B[0m") == "loss=0.5");
  CHECK(said(definitions, "[rank0]: Verlust 0.5") == "loss=0.5");
  CHECK(said(definitions, "[1,0]<stdout>:Verlust 0.5") == "loss=0.5");
  CHECK(said({{"loss", "^INFO:root:Verlust ([0-9.]+)"}}, "INFO:root:Verlust 0.5") == "loss=0.5");
}

TEST_CASE("a name that is defined is read by its definition alone") {
  const Definitions definitions{{"loss", "total ([0-9.]+)"}};
  CHECK(said(definitions, "loss=0.9 acc=0.5 total 3") == "acc=0.5 loss=3");
  CHECK(said(definitions, "loss=0.9 acc=0.5") == "acc=0.5");
  CHECK(said(definitions, "{'loss': 0.9, 'acc': 0.5}") == "acc=0.5");
  CHECK(said(definitions, "45/45 [====] - 1s - loss: 0.12 - val_loss: 0.2") == "val_loss=0.2");
  CHECK(said(definitions, "Epoch 1/5, loss: 0.5, val loss: 0.6") == "val_loss=0.6@epoch1 1/5");
  CHECK(said(definitions, "Loss: 0.5") == "Loss=0.5");
  CHECK(said({{"epoch", "Runde ([0-9/]+)"}}, "epoch=7/9 loss=0.5") == "loss=0.5");
  CHECK(said({{"step", "Zug ([0-9]+)"}}, "step=7 loss=0.5") == "loss=0.5");
}

TEST_CASE("a defined metric is on the axis that the line or a definition gives") {
  const Definitions definitions{{"v", "Verlust ([0-9.]+)"}};
  CHECK(said(definitions, "Verlust 0.5") == "v=0.5");
  CHECK(said(definitions, "epoch=3/10 Verlust 0.5") == "v=0.5@epoch3 3/10");
  CHECK(said(definitions, "Epoch [3/10], Verlust 0.5") == "v=0.5@epoch3 3/10");
  CHECK(said(definitions, "Verlust 0.5 in epoch 3") == "v=0.5@epoch3");
  CHECK(said(definitions, "step 100: Verlust 0.5") == "v=0.5@step100");
  CHECK(said(definitions, "Step [100/600], Verlust 0.5") == "v=0.5@step100");
  CHECK(said(definitions, "{\"step\": 100} Verlust 0.5") == "v=0.5");
  CHECK(said({{"v", "Verlust ([0-9.]+)"}, {"epoch", "Runde ([0-9/]+)"}}, "Runde 3/10 Verlust 0.5") == "v=0.5@epoch3 3/10");
  CHECK(said({{"v", "Verlust ([0-9.]+)"}, {"step", "Zug ([0-9]+)"}}, "Zug 3 Verlust 0.5") == "v=0.5@step3");
  CHECK(said({{"v_num", "Verlust ([0-9.]+)"}}, "Verlust 0.5") == "v_num=0.5");
}

TEST_CASE("values of a definition make a curve") {
  auto reader = reader_of({{"loss", "loss is ([0-9.]+)"}});
  for (const auto* line : {"loss is 3", "nothing", "loss is 2", "loss is 1"}) reader.feed(line, Time{});
  REQUIRE(reader.series().size() == 1);
  CHECK(reader.series().front().points.size() == 3);
  CHECK(show(reader) == "loss=1");
}

TEST_CASE("a pattern that cannot be used is refused with its reason") {
  struct Row {
    std::string regex;
    const char* said;
  };
  const Row rows[] = {
      {"loss is ([0-9.]+", "[0].regex: missing ): \"loss is ([0-9.]+\""},
      {"loss is [0-9.", "[0].regex: missing ]: \"[0-9.\""},
      {"*(x)", "[0].regex: no argument for repetition operator: \"*\""},
      {"loss is [0-9.]+", "[0].regex: the pattern has no group; put the value in parentheses"},
      {"(?:loss) is [0-9.]+", "the pattern has no group"},
      {"(?<=loss )([0-9.]+)", "look-around is not supported: match the text around the value, with only the value in parentheses"},
      {"([0-9.]+)(?=ms)", "invalid perl operator: \"(?=\"; look-around is not supported"},
      {"([0-9.]+)(?!ms)", "look-around is not supported"},
      {"(?<value>[0-9.]+)", "; write a named group as (?P<name>…)"},
      {"([0-9.]+) \\1", "invalid escape sequence: \"\\\\1\"; back-references are not supported"},
      {"(.{1000})", "[0].regex: the pattern is too large"},
      {"((?:x{100}){100})", "[0].regex: invalid repetition size: \"{100}\""},
      {"(\\pL{50})", "the pattern is too large"},
      {"(x)" + std::string(1000, 'x'), "[0].regex: the pattern has 1003 bytes, the limit is 1000"},
      {"(\xFF)", "[0].regex: invalid UTF-8"},
      {"password=hunter2-9xQ (", "[0].regex: missing ): a string (not shown)"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.regex, refused(row.regex));
    CHECK(refused(row.regex).find(row.said) != std::string::npos);
  }
  CHECK(refused("((?:x{200})|[\\p{L}\\d]{1,3})").empty());
}

TEST_CASE("ambiguous definitions, or too many, are rejected") {
  const auto message = [](const Definitions& definitions) {
    const auto checked = check_definitions(definitions);
    return checked ? "" : checked.error().message;
  };
  CHECK(message({{"a", "(x)"}, {"b", "(x)"}}).empty());
  CHECK(message({{"validation:accuracy", "(x)"}, {"train:error", "(x)"}, {"eval/f1-score_2.0", "(x)"}}).empty());
  CHECK(message({{":a", "(x)"}}).starts_with("[0].name: \":a\" is not a valid metric name"));
  CHECK(message({{"a", "(x)"}, {"a", "(y)"}}) == "[1].name: [0] also defines \"a\"");
  CHECK(message({{"my loss", "(x)"}})
            .starts_with("[0].name: \"my loss\" is not a valid metric name; use letters, digits and _ . - / :, starting with a letter"));
  CHECK(message({{"0a", "(x)"}}).starts_with("[0].name"));
  CHECK(message({{std::string(100, 'a'), "(x)"}}).empty());
  CHECK(message({{std::string(101, 'a'), "(x)"}}).starts_with("[0].name"));
  Definitions many;
  for (std::size_t i = 0; i < max_definitions; ++i) many.push_back({fmt::format("m{}", i), "(x)"});
  CHECK(message(many).empty());
  many.push_back({"more", "(x)"});
  CHECK(message(many) == ": 41 items, the limit is 40");
}

TEST_CASE("what a check would refuse finds nothing") {
  MetricReader reader(std::make_shared<MetricPatterns>(Definitions{{"a", "("}, {"b", "x[0-9]"}, {"c d", "(3)"}, {"e", "x([0-9])"}}));
  reader.feed("x1 2 3", Time{});
  CHECK(show(reader) == "e=1");
}

TEST_CASE("of a line of more than 16 KiB the ends are read, and no number is cut") {
  const Definitions definitions{{"x", "v[:=]\\s*(\\d+)"}};
  const std::string filler(20'000, 'x');
  CHECK(said(definitions, "v: 1 " + filler) == "x=1");
  CHECK(said(definitions, filler + " v: 2") == "x=2");
  CHECK(said(definitions, "v: 1 " + filler + " v: 2") == "x=2");
  CHECK(said(definitions, filler + " v: 3 " + filler).empty());
  for (std::size_t length = 8180; length < 8195; ++length) {
    CAPTURE(length);
    CHECK(said({{"x", "(\\d+)"}}, filler + ",12345678" + std::string(length, 'y')).find("=5678") == std::string::npos);
    const auto head = said(definitions, std::string(length, 'y') + "v=12345678," + filler);
    CHECK((head.empty() || head == "x=1.23457e+07"));
  }
}

TEST_CASE("a pattern with long repetitions reads a long line in little time") {
  std::string line;
  while (line.size() < max_line_length) line += "abc12xyz=";
  for (const auto* regex : {"(?:\\w+=){300}loss([0-9])", "[^\\n]{0,400}x[^\\n]{0,400}loss([0-9])"}) {
    CAPTURE(regex);
    MetricPatterns patterns(Definitions{{"loss", regex}});
    MetricLine read;
    const auto before = trainstep::test::cpu_time();
    patterns.read(line, read);
    CHECK(trainstep::test::cpu_time() - before < std::chrono::milliseconds(100));
  }
}

TEST_CASE("no pattern makes a line of any length endless") {
  const std::string long_line(max_line_length, 'x');
  for (const auto* regex : {"(x+x+)+y", "((?:x|x?)+)+y", "(x.*y|x)", "x*(x)x*y|(?:x)", "((?:a|x){1,10}x{100})", "(x*)*$", "x(?:.*)(?:.*)(?:.*)(y)"}) {
    CAPTURE(regex);
    MetricPatterns patterns(Definitions{{"loss", regex}});
    MetricLine line;
    patterns.read(long_line, line);
    CHECK(line.metrics.empty());
  }
}
