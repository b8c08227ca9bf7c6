// The text reader on valid, malformed and random bytes, with one and several threads.
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "io/svmlight.hpp"

namespace {

using namespace multimargin;
using svmlight::Dataset;
using svmlight::Options;
using svmlight::ParseError;

// A parsed text in a form that can be compared.
template <class T>
struct Outcome {
  bool refused = false;
  std::int64_t line = 0, column = 0;
  std::string message;
  std::int64_t columns = 0;
  std::vector<T> data;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> indptr, integers, label_begin;
  std::vector<std::uint32_t> text;
  std::size_t width = 0;

  bool operator==(const Outcome& o) const {
    return refused == o.refused && line == o.line && column == o.column && message == o.message &&
           columns == o.columns && data == o.data && indices == o.indices && indptr == o.indptr &&
           integers == o.integers && text == o.text && width == o.width &&
           label_begin == o.label_begin;
  }
};

template <class T>
Outcome<T> parse(const std::string& text, const Options& options) {
  // A copy of the exact size: a read past the end of the text is seen.
  const std::unique_ptr<char[]> exact(new char[text.size()]);
  std::memcpy(exact.get(), text.data(), text.size());
  Outcome<T> out;
  try {
    const Dataset<T> d = svmlight::parse<T>(exact.get(), text.size(), options);
    out.columns = d.n_columns;
    out.data.assign(d.data.get(), d.data.get() + d.nnz);
    out.indices.assign(d.indices.get(), d.indices.get() + d.nnz);
    out.indptr.assign(d.indptr.get(), d.indptr.get() + d.n_rows + 1);
    if (options.multilabel)
      out.label_begin.assign(d.label_begin.get(), d.label_begin.get() + d.n_rows + 1);
    if (d.labels_are_integers) {
      out.integers.assign(d.integer_labels.get(), d.integer_labels.get() + d.n_labels);
    } else {
      out.width = d.text_width;
      out.text.assign(d.text_labels.get(), d.text_labels.get() + d.n_labels * d.text_width);
    }
  } catch (const ParseError& error) {
    out.refused = true;
    out.line = error.line;
    out.column = error.column;
    out.message = error.what();
  }
  return out;
}

// Checks what every result has to be, and that chunks and threads do not change it.
template <class T>
Outcome<T> parse_all_ways(const std::string& text, Options options = {}) {
  const Outcome<T> one = parse<T>(text, options);
  for (int threads : {1, 4})
    for (std::size_t bytes : {1, 7, 64}) {
      options.n_threads = threads;
      options.chunk_bytes = bytes;
      CHECK(parse<T>(text, options) == one);
    }
  if (one.refused) {
    CHECK(one.line >= 1 && one.column >= 1 && !one.message.empty());
    return one;
  }
  CHECK(one.indptr.front() == 0);
  for (std::size_t i = 0; i + 1 < one.indptr.size(); ++i)
    for (std::int64_t t = one.indptr[i]; t < one.indptr[i + 1]; ++t) {
      CHECK(one.indices[t] >= 0 && one.indices[t] < one.columns);
      CHECK(t == one.indptr[i] || one.indices[t - 1] < one.indices[t]);
      CHECK(std::isfinite(one.data[t]));
    }
  return one;
}

template <class T>
void valid() {
  const auto numbers = parse_all_ways<T>(
      "\xef\xbb\xbf"
      "3 1:0.5 4:-2e-1 # note\n\n# none\n"
      "-1 qid:7 3:+1 2:1e-999\r\n+2.0\n1e2 2147483647:1");
  CHECK((numbers.integers == std::vector<std::int64_t>{3, -1, 2, 100}));
  CHECK((numbers.indptr == std::vector<std::int64_t>{0, 2, 4, 4, 5}));
  CHECK((numbers.indices == std::vector<std::int32_t>{0, 3, 1, 2, 2147483646}));
  CHECK((numbers.data == std::vector<T>{T(0.5), T(-0.2), T(0), T(1), T(1)}));
  CHECK(numbers.columns == 2147483647);
  const auto words = parse_all_ways<T>("caf\xc3\xa9 1:1\n12 2:2\n\xf0\x9f\x90\x88\n");
  CHECK(words.width == 4);
  CHECK((words.text ==
         std::vector<std::uint32_t>{'c', 'a', 'f', 0xe9, '1', '2', 0, 0, 0x1f408, 0, 0, 0}));
  for (const char* nothing : {"", "\n", "\r\n\n", "# only\n", "\xef\xbb\xbf", "  \t"})
    CHECK((parse_all_ways<T>(nothing).indptr == std::vector<std::int64_t>{0}));
  Options several;
  several.multilabel = true;
  const auto sets = parse_all_ways<T>("3,7 1:1\n1:2\n7, 3 # two\nqid:2 1:1\n5\n", several);
  CHECK((sets.integers == std::vector<std::int64_t>{3, 7, 7, 3, 5}));
  CHECK((sets.label_begin == std::vector<std::int64_t>{0, 2, 2, 4, 4, 5}));
  CHECK((sets.indptr == std::vector<std::int64_t>{0, 1, 2, 2, 3, 3}));
  CHECK(parse_all_ways<T>("1, 1:1", several).refused && parse_all_ways<T>("1,", several).refused);
  Options narrow;
  narrow.zero_based = true;
  narrow.n_features = 3;
  CHECK(parse_all_ways<T>("1 0:1 3:1\n", narrow).refused);
  narrow.ignore_extra_features = true;
  CHECK((parse_all_ways<T>("1 0:1 3:1\n", narrow).indices == std::vector<std::int32_t>{0}));
}

template <class T>
void malformed() {
  struct Case {
    const char* text;
    std::int64_t line, column;
  };
  const Case cases[] = {
      {"1 0:1", 1, 3},
      {"1 2:1\n1 1:2 1:3\n", 2, 7},
      {"1 3:", 1, 3},
      {"1 3:x\n", 1, 3},
      {"1 :5", 1, 3},
      {"1 5", 1, 3},
      {"1 a:5", 1, 3},
      {"1 -4:5", 1, 3},
      {"1 3:nan", 1, 3},
      {"1 3:-inf", 1, 3},
      {"1 3:1e999", 1, 3},
      {"1 3:+-1", 1, 3},
      {"1 3:+", 1, 3},
      {"1 2147483648:1", 1, 3},
      {"1 3:0x10", 1, 3},
      {"1 99999999999999999999999:1", 1, 3},
      {"1:2 3:4", 1, 1},
      {"qid:3 1:1", 1, 1},
      {"1,2 1:1", 1, 1},
      {"\n\n\n a#b 1:1", 4, 2},
      {"\xff\xfe 1:1", 1, 1},
      {"\xc3", 1, 1},
      {"\xed\xa0\x80 1:1", 1, 1},
      {"a\x01 1:1", 1, 1},
      {"1 1:1:1", 1, 3},
      {"1 1:1#c\n1 1:1 x", 2, 7},
  };
  for (const Case& c : cases) {
    const auto outcome = parse_all_ways<T>(c.text);
    CHECK(outcome.refused);
    CHECK(outcome.line == c.line && outcome.column == c.column);
  }
  CHECK(parse_all_ways<T>(std::string(1025, 'a') + " 1:1").refused);
  CHECK(!parse_all_ways<T>(std::string(1024, 'a') + " 1:1").refused);
  // Numbers at the edge of every conversion.
  const std::string zeros(5000, '0');
  for (const char* label :
       {"9223372036854775807", "9223372036854775808", "-9223372036854775808", "1e18", "1e19",
        "1e99999999999999999999999", "0e-99999999999999999999999", "-0", "+", "-", ".", "e5", "1e",
        "1e+", "0.", "00012", "1.50"})
    CHECK(!parse_all_ways<T>(std::string(label) + " 1:1").refused);
  CHECK(!parse_all_ways<T>("1 1:0." + zeros + "1 2:" + zeros + "1").refused);
  CHECK(parse_all_ways<T>("1 1:1" + zeros).refused);
}

// Lines of likely pieces, some of them wrong, and plain random bytes.
template <class T>
void random_text() {
  const char* const pieces[] = {
      "1",    "-2",   "3.0",   "cat",      " ",      " ",   " ",
      "\t",   "\n",   "\r\n",  "# c",      "1:",     "2:3", "17:-.5e3",
      "qid:", ":",    "1e999", "5:1e-400", "+",      "nan", "9999999999",
      "\xc3", "\xa9", "e",     "0",        "12:0.5", ",",   "\xef\xbb\xbf"};
  Random random(2024);
  int accepted = 0;
  for (int round = 0; round < 400; ++round) {
    std::string text;
    const bool bytes = round % 4 == 0;
    for (std::uint32_t k = random.below(40); k > 0; --k) {
      if (bytes) {
        text += static_cast<char>(random.below(256));
      } else {
        text += pieces[random.below(sizeof(pieces) / sizeof(pieces[0]))];
      }
    }
    Options options;
    options.zero_based = random.below(2) == 0;
    options.multilabel = random.below(2) == 0;
    accepted += !parse_all_ways<T>(text, options).refused;
  }
  CHECK(accepted > 0 && accepted < 400);
}

// Well-formed text with one byte changed: most of the parser is reached, most lines are sound.
template <class T>
void damaged_text() {
  std::string sound;
  Random random(7);
  for (int i = 0; i < 60; ++i) {
    sound += std::to_string(random.below(9));
    for (std::uint32_t k = 0, j = 0; k < 6; ++k)
      sound += " " + std::to_string(j += 1 + random.below(50)) + ":0." +
               std::to_string(random.below(1000));
    sound += i % 5 == 0 ? " # end\r\n" : "\n";
  }
  CHECK(parse_all_ways<T>(sound).indptr.size() == 61);
  for (int round = 0; round < 100; ++round) {
    std::string text = sound;
    text[random.below(static_cast<std::uint32_t>(text.size()))] =
        static_cast<char>(random.below(256));
    text.resize(text.size() - random.below(20));
    parse_all_ways<T>(text);
  }
}

template <class T>
void one_kind() {
  valid<T>();
  malformed<T>();
  random_text<T>();
  damaged_text<T>();
}

}  // namespace

int main() {
  one_kind<float>();
  one_kind<double>();
  std::puts("test_svmlight: ok");
}
