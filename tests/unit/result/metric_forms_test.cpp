// The forms of metric lines one by one: what is at their edges. What whole programs print: metric_logs_test.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <ctime>
#include <string>

#include "result/boosting_rounds.h"
#include "result/metric_line.h"
#include "result/metric_sentence.h"
#include "result/metric_table.h"
#include "result/metric_text.h"
#include "result/metric_words.h"
#include "support/catch.h"

using namespace trainstep;
using namespace trainstep::result;

namespace {

std::string show(const MetricLine& line) {
  std::string text;
  for (const auto& metric : line.metrics) text += fmt::format("{}={:g} ", metric.name, metric.value);
  if (line.epoch) text += fmt::format("e{:g} ", *line.epoch);
  if (line.step) text += fmt::format("s{:g} ", *line.step);
  return text;
}

std::string sentence(std::string_view text) {
  MetricLine line;
  read_sentence(text, line);
  return show(line);
}

std::string rounds(std::string_view text) {
  MetricLine line;
  read_rounds(text, line);
  return show(line);
}

std::string row(MetricTable& table, std::string_view text) {
  MetricLine line;
  table.read(text, line);
  return show(line);
}

struct Case {
  const char* text;
  const char* said;
};

}  // namespace

TEST_CASE("the words around a number tell what kind of value it is") {
  using Kind = MetricKind;
  const std::pair<const char*, Kind> cases[] = {
      {"loss", Kind::usual},
      {"val_loss", Kind::usual},
      {"train/loss_cls", Kind::usual},
      {"LOSS", Kind::usual},
      {"valLoss", Kind::usual},
      {"acc", Kind::result},
      {"Acc@1", Kind::result},
      {"acc1", Kind::result},
      {"testAcc", Kind::result},
      {"mAP50-95", Kind::result},
      {"mAP", Kind::result},
      {"val_mIoU", Kind::result},
      {"f1", Kind::result},
      {"eval/f1", Kind::result},
      {"AUC", Kind::result},
      {"lr", Kind::rate},
      {"learning_rate", Kind::rate},
      {"error", Kind::rate},
      {"map", Kind::none},
      {"f", Kind::none},
      {"r", Kind::none},
      {"top", Kind::none},
      {"loss_scale", Kind::none},
      {"accuracy_threshold", Kind::none},
      {"glossary", Kind::none},
      {"account", Kind::none},
      {"time", Kind::none},
      {"", Kind::none},
      {"loss_weight", Kind::none},
  };
  for (const auto& [word, kind] : cases) {
    CAPTURE(word);
    CHECK(metric_kind(word) == kind);
  }
  CHECK(metric_kind(std::string(200, 'a') + "_loss") == Kind::none);
  CHECK(metric_kind("learning", "rate") == Kind::rate);
  CHECK(metric_kind("frame", "rate") == Kind::none);
  CHECK(metric_kind("squared", "error") == Kind::result);
  CHECK(metric_kind("f1", "score") == Kind::result);
}

TEST_CASE("a name may say at which overlap or rank a value was measured") {
  for (const auto* name :
       {"loss", "acc@1", "mAP@0.5", "mAP@.5:.95", "AP@.5:.05:.95", "mAP@50-95", "mAP@[0.5:0.95]", "mAP@[ IoU=0.5 ]", "mAP_0.5:0.95", "mAP50:95"}) {
    CAPTURE(name);
    CHECK(is_measured_name(name));
  }
  for (const auto* name :
       {"", "@1", "a@b", "a@", "a@1.2.3", "a@b:22", "mAP@[0.5", "mAP@0.5]", "acc@1:76.1", "top1:0.76", "a:1", "a:b", "mAP_0.5:", "mAP_0.5:x"}) {
    CAPTURE(name);
    CHECK_FALSE(is_measured_name(name));
  }
  CHECK_FALSE(is_measured_name(std::string(max_name_length, 'a') + "@1"));
  CHECK(plain_name("mAP@[ IoU=0.5:0.95 ]") == "mAP@0.5:0.95");
}

TEST_CASE("values in words are read to their edges") {
  const Case cases[] = {
      {"accuracy: 91.2%", "accuracy=91.2 "},
      {"accuracy: 54 %", "accuracy=54 "},
      {"accuracy: 9825/10000", "accuracy=0.9825 "},
      {"accuracy: 10001/10000", ""},
      {"accuracy: 9825/0", ""},
      {"accuracy: 0.9/1", ""},
      {"accuracy: 1,234.5", "accuracy=1234.5 "},
      {"accuracy: 1,234", ""},
      {"accuracy: 12345,678.5", ""},
      {"accuracy: 0.9.1", ""},
      {"accuracy: 0.9s", ""},
      {"accuracy: 9:30", ""},
      {"accuracy: 1e-3.", "accuracy=0.001 "},
      {"accuracy: nan", "accuracy=nan "},
      {"accuracy: -inf", "accuracy=-inf "},
      {"accuracy: info", ""},
      {"accuracy 1", ""},
      {"accuracy 1.0", "accuracy=1 "},
      {"accuracy: 1", "accuracy=1 "},
      {"accuracy:: 1.0", ""},
      {"accuracy of 0.9", ""},
      {"accuracy (0.9)", ""},
      {"accuracy after 3 epochs", ""},
      {"a b c d accuracy: 0.9", ""},
      {"the accuracy: 0.9", "accuracy=0.9 "},
      {"target accuracy: 0.9", ""},
      {"http://host/accuracy: 0.9", ""},
      {"Loss: 0.3", "Loss=0.3 "},
      {"Loss: 3", ""},
      {"loss: 0.3", ""},
      {"loss: 0.3, score: 0.4", "loss=0.3 score=0.4 "},
      {"loss: 3, score: 4", ""},
      {"step 7: loss 0.3", "loss=0.3 s7 "},
      {"step 7: nothing", ""},
      {"step 1.5: loss 0.3", ""},
      {"Step [7/9], loss: 3", "loss=3 s7 "},
      {"[3, 200] loss: 0.3", "loss=0.3 e3 s200 "},
      {"[3/100] loss: 0.3", "loss=0.3 s3 "},
      {"[3/100][5/60] loss: 0.3", "loss=0.3 e3 s5 "},
      {"Test: [3/100] loss: 0.3", "Test_loss=0.3 "},
      {"val loss: 0.3, acc: 0.9, lr: 0.1", "val_loss=0.3 val_acc=0.9 lr=0.1 "},
      {"val_loss: 0.3, acc: 0.9", "val_loss=0.3 acc=0.9 "},
      {"train loss 0.3 val loss 0.4 acc 0.5", "train_loss=0.3 val_loss=0.4 val_acc=0.5 "},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(sentence(c.text) == c.said);
  }
}

TEST_CASE("a line is read as its writer means it") {
  const Case cases[] = {
      {"{'loss': 0.5, 'memory/active(gib)': 12.3, 'epoch': 1}", "loss=0.5 e1 "},
      {"{'loss': 0.5, 'R\u00B2': 0.9}", "loss=0.5 "},
      {"{'val acc': 0.9, \"val loss\": 0.4}", "val_acc=0.9 val_loss=0.4 "},
      {"{'loss': 0.5, 'top 5 acc': 0.9, 'epoch': 1}", "loss=0.5 top_5_acc=0.9 e1 "},
      {"Accuracy of the network on the 10000 test images: 54 %", "Accuracy=54 "},
      {"Accuracy of plane : 52 %", "Accuracy_of_plane=52 "},
      {"Accuracy of model: 0.5", "Accuracy=0.5 "},
      {"Accuracy of KNN: 0.5", "Accuracy=0.5 "},
      {"Accuracy for class cat: 45.0 %", ""},
      {"Epoch 3/10 Loss: 0.5 -> 0.4, Acc: 0.8 -> 0.9", "Loss=0.4 Acc=0.9 e3 "},
      {"epoch=3 val_loss=0.5 --> 0.4 saving", "val_loss=0.4 e3 "},
      {"Epoch 3 best acc 0.91 \u2192 0.93", "best_acc=0.93 e3 "},
      {"Best epoch 3, epoch 5, loss: 0.5, acc: 0.1", "loss=0.5 acc=0.1 e5 "},
      {"[best epoch: 3] epoch: 5 loss: 0.5", "loss=0.5 e5 "},
      {"last epoch 4 | epoch 5 | loss 0.5", "loss=0.5 e5 "},
      {"max epoch 10 | epoch 5 | loss 0.5", "loss=0.5 e5 "},
      {"Best epoch 3, loss: 0.5", "Best_loss=0.5 e3 "},
      {"step 9,500 loss: 0.5 acc: 0.1", "loss=0.5 acc=0.1 s9500 "},
      {"Iter 1,009,500/2,000,000 loss: 0.5 acc: 0.1", "loss=0.5 acc=0.1 s1.0095e+06 "},
      {"loss = 0.5 * cls + 0.5 * reg", ""},
      {"loss = 2 + mse", ""},
      {"mse=1.2 x 10^-3", ""},
      {"Training loss did not improve more than tol=0.010000 for 5 consecutive epochs. Stopping.", ""},
      {"(RayTrainWorker pid=123, ip=10.0.0.1) epoch=1 loss=0.5", "loss=0.5 e1 "},
      {"(pid=123) {'loss': 0.5}", "loss=0.5 "},
      {"(loss pid=x) loss=0.5", "loss=0.5 "},
      {"loss=0.4123: 100%|##########| 10/10 [00:01<00:00]", "loss=0.4123 "},
      {"Epoch 1 loss 0.4123: 100%|##########| 10/10", "loss=0.4123 e1 "},
      {"loss=0.4: x", ""},
      {"1|808|Loss: 0.98: 100%|##########| 808/808", "Loss=0.98 "},
      {"loss= 0.7 acc= 0.9", "loss=0.7 acc=0.9 "},
      {"loss =0.7", "loss=0.7 "},
      {"x= 0.7", ""},
      {"    loss= 0.7", ""},
      {"loss: None acc: 0.9", "acc=0.9 "},
      {"Loss: n/a Acc: 0.9 F1: null AUC: 0.8", "Acc=0.9 AUC=0.8 "},
      {"train loss 0.5 vs val loss 0.6", "train_loss=0.5 val_loss=0.6 "},
      {"loss=0.5 vs. val_loss=0.6", "loss=0.5 val_loss=0.6 "},
      {"acc_steps: 4", ""},
      {"train_loss_step: 0.4 epoch 3", "train_loss_step=0.4 e3 "},
      {"trainer: train_time=3.5 train_loss=0.4", "train_time=3.5 train_loss=0.4 "},
      {"hyperparameters: lr0=0.01, iou_t=0.2, fl_gamma=0.0", ""},
      {"INFO:root:Config: hidden=128 score=0.5", ""},
      {"[LightGBM] [Warning] lambda_l1 is set=0.1, reg_alpha=0.0 will be ignored. Current value: lambda_l1=0.1", ""},
      {"results: acc=0.9", "acc=0.9 "},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    MetricTable table;
    CHECK(show(read_metric_line(c.text, table)) == c.said);
  }
}

TEST_CASE("a long line takes as long as the same text on many lines") {
  for (const std::string_view text :
       {"a=x ", "a=1 b=2 c=3 ", "level=info msg=hello ", "loss=0.5 ", "A(x=", "loss: 0.5 ", "epoch 1, ", "a=[1 ", "@ a=1 "}) {
    CAPTURE(text);
    const auto seconds = [](const std::string& line, int times) {
      MetricTable table;
      const auto begin = std::clock();
      for (int i = 0; i < times; ++i) read_metric_line(line, table);
      return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    };
    const auto repeated = [&](int times) {
      std::string line;
      for (int i = 0; i < times; ++i) line += text;
      return line;
    };
    CHECK(seconds(repeated(40'000), 1) < 10 * seconds(repeated(40), 1'000) + 1);
  }
}

TEST_CASE("in a line with many values the first hundred are read") {
  std::string line;
  for (int i = 0; i < 150; ++i) line += fmt::format("acc{}: 0.5, ", i);
  MetricLine found;
  CHECK(read_sentence(line, found));
  CHECK(found.metrics.size() == 100);
}

TEST_CASE("rounds of boosting are read to their edges") {
  const Case cases[] = {
      {"[3]\ttrain-rmse:0.5", "train-rmse=0.5 s3 "},
      {"[12:00:01] [3]\ttrain-rmse:0.5+0.1", "train-rmse=0.5 s3 "},
      {"3:\tlearn: 0.5\ttotal: 3ms", "learn=0.5 s3 "},
      {"[3]\ttrain's auc: nan", "train_auc=nan s3 "},
      {"[3] train-rmse:0.5", ""},
      {"[3]\ttrain", ""},
      {"[3]\t1:2", ""},
      {"[3]\ttotal: 3ms", ""},
      {"[x]\ttrain-rmse:0.5", ""},
      {"3\ttrain-rmse:0.5", ""},
      {"3:\tnothing", ""},
      {"[3]\t", ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(rounds(c.text) == c.said);
  }
}

TEST_CASE("a row is read below its header only") {
  MetricTable table;
  CHECK(row(table, "0  0.5  0.6  00:01").empty());
  CHECK(row(table, "epoch  train_loss  valid_loss  time").empty());
  CHECK(row(table, "0  0.5  0.6  00:01") == "train_loss=0.5 valid_loss=0.6 e0 ");
  CHECK(row(table, "1  0.5  0.6").empty());
  CHECK(row(table, "1  0.5  0.6  00:01  x").empty());
  CHECK(row(table, "1.5  0.5  0.6  00:01").empty());
  CHECK(row(table, "2  nan  -  00:01") == "train_loss=nan e2 ");
  CHECK(row(table, "all  0.5  0.6  00:01").empty());
  CHECK(row(table, "step  loss  lr").empty());
  CHECK(row(table, "3  0.5  0.6  00:01") == "train_loss=0.5 valid_loss=0.6 e3 ");  // "step" begins no table that is known
}

TEST_CASE("a header names a count and metrics") {
  for (const auto* header :
       {"epoch  time  size", "epoch  loss", "name  train_loss  valid_loss", "epoch  3  train_loss  valid_loss", "epoch train_loss valid_loss"}) {
    CAPTURE(header);
    MetricTable table;
    CHECK(row(table, header).empty());
    CHECK(row(table, "1  0.5  0.6").empty());
    CHECK(row(table, "1  0.5  0.6  0.7").empty());
  }
}
