#include "io/svmlight.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <system_error>
#include <thread>

#include "io/svmlight_chunk.hpp"
#include "io/svmlight_tokens.hpp"

namespace multimargin::svmlight {
namespace {

// Calls task(0) .. task(n_tasks - 1) on up to n_threads threads, this one
// included. Tasks start in order and none starts after one has thrown; the
// exception of the earliest throwing task is rethrown. As every earlier task
// has then run to its end, that choice does not depend on timing.
void run_tasks(int n_threads, std::size_t n_tasks, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::vector<std::exception_ptr> errors(n_tasks);
  const auto work = [&] {
    while (!failed.load()) {
      const std::size_t i = next.fetch_add(1);
      if (i >= n_tasks) return;
      try {
        task(i);
      } catch (...) {
        errors[i] = std::current_exception();
        failed.store(true);
      }
    }
  };
  std::vector<std::thread> threads;
  const auto n_helpers = std::min(static_cast<std::size_t>(std::max(n_threads, 1)), n_tasks);
  threads.reserve(n_helpers);
  try {
    for (std::size_t t = 1; t < n_helpers; ++t) threads.emplace_back(work);
  } catch (const std::system_error&) {
    // The system gives no more threads: those that run finish the work.
  }
  work();
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

// Where chunks begin, each at a line start; the last entry is the end.
std::vector<const char*> cut_at_lines(const char* p, const char* end, std::size_t chunk_bytes) {
  std::vector<const char*> cuts{p};
  while (p != end) {
    const auto left = static_cast<std::size_t>(end - p);
    const std::size_t ahead = std::min(left, std::max<std::size_t>(chunk_bytes, 1)) - 1;
    const auto* newline = static_cast<const char*>(std::memchr(p + ahead, '\n', left - ahead));
    p = newline == nullptr ? end : newline + 1;
    cuts.push_back(p);
  }
  return cuts;
}

// Where a chunk goes in the joined arrays.
struct Place {
  std::int64_t row;
  std::int64_t entry;
  std::int64_t label;
};

template <typename Real>
void join_chunk(const Chunk<Real>& chunk, Place place, Dataset<Real>& out) {
  std::copy(chunk.data.begin(), chunk.data.end(), out.data.get() + place.entry);
  std::copy(chunk.indices.begin(), chunk.indices.end(), out.indices.get() + place.entry);
  for (std::size_t i = 0; i < chunk.row_ends.size(); ++i) {
    const auto row = static_cast<std::size_t>(place.row) + i;
    out.indptr[row + 1] = place.entry + chunk.row_ends[i];
    if (out.label_begin != nullptr) out.label_begin[row + 1] = place.label + chunk.label_ends[i];
  }
  for (std::size_t i = 0; i < chunk.labels.size(); ++i) {
    const auto at = static_cast<std::size_t>(place.label) + i;
    if (out.labels_are_integers) {
      out.integer_labels[at] = chunk.integer_labels[i];
    } else {
      std::uint32_t* code = out.text_labels.get() + at * out.text_width;
      std::uint32_t* const stop = code + out.text_width;
      const Token label = chunk.labels[i];
      for (const char* p = label.begin; p != label.end; ++code) decode_utf8(p, label.end, *code);
      std::fill(code, stop, 0u);
    }
  }
}

template <typename Real>
Dataset<Real> join(std::vector<Chunk<Real>>& chunks, const Options& options) {
  Dataset<Real> out;
  std::vector<Place> places;
  for (const Chunk<Real>& chunk : chunks) {
    places.push_back({out.n_rows, out.nnz, out.n_labels});
    out.n_rows += static_cast<std::int64_t>(chunk.row_ends.size());
    out.n_labels += static_cast<std::int64_t>(chunk.labels.size());
    out.nnz += static_cast<std::int64_t>(chunk.data.size());
    out.n_columns = std::max(out.n_columns, chunk.n_columns);
    out.text_width = std::max(out.text_width, chunk.text_width);
    out.labels_are_integers = out.labels_are_integers && chunk.all_integral;
  }
  const auto n_rows = static_cast<std::size_t>(out.n_rows);
  const auto n_labels = static_cast<std::size_t>(out.n_labels);
  const auto nnz = static_cast<std::size_t>(out.nnz);
  out.data.reset(new Real[nnz]);
  out.indices.reset(new std::int32_t[nnz]);
  out.indptr.reset(new std::int64_t[n_rows + 1]);
  out.indptr[0] = 0;
  if (options.multilabel) {
    out.label_begin.reset(new std::int64_t[n_rows + 1]);
    out.label_begin[0] = 0;
  }
  if (out.labels_are_integers) {
    out.integer_labels.reset(new std::int64_t[n_labels]);
  } else {
    out.text_labels.reset(new std::uint32_t[n_labels * out.text_width]);
  }
  run_tasks(options.n_threads, chunks.size(), [&](std::size_t b) {
    join_chunk(chunks[b], places[b], out);
    chunks[b] = Chunk<Real>();  // gives its memory back early: halves the peak
  });
  return out;
}

}  // namespace

template <typename Real>
Dataset<Real> parse(const char* text, std::size_t size, const Options& options) {
  const char* const end = text + size;
  const std::vector<const char*> cuts = cut_at_lines(text, end, options.chunk_bytes);
  std::vector<Chunk<Real>> chunks(cuts.size() - 1);
  run_tasks(options.n_threads, chunks.size(), [&](std::size_t b) {
    const char* begin = cuts[b];
    // A byte order mark, as some editors write, would make the first label text.
    if (b == 0 && size >= 3 && std::memcmp(begin, "\xef\xbb\xbf", 3) == 0) begin += 3;
    try {
      ChunkParser<Real>(options, chunks[b]).parse(begin, cuts[b + 1]);
    } catch (const ParseError& error) {
      // Earlier chunks may still be running, so their lines are counted here,
      // on this rare path.
      const auto lines_before = std::count(text, cuts[b], '\n');
      throw ParseError(error.line + lines_before, error.column, error.what());
    }
  });
  return join(chunks, options);
}

template <typename Real>
std::unique_ptr<std::int32_t[]> narrow_indptr(const Dataset<Real>& parsed) {
  if (parsed.nnz > std::numeric_limits<std::int32_t>::max()) return nullptr;
  const std::int64_t n = parsed.n_rows + 1;
  std::unique_ptr<std::int32_t[]> narrow(new std::int32_t[static_cast<std::size_t>(n)]);
  for (std::int64_t i = 0; i < n; ++i) narrow[i] = static_cast<std::int32_t>(parsed.indptr[i]);
  return narrow;
}

template std::unique_ptr<std::int32_t[]> narrow_indptr(const Dataset<float>&);
template std::unique_ptr<std::int32_t[]> narrow_indptr(const Dataset<double>&);
template Dataset<float> parse<float>(const char*, std::size_t, const Options&);
template Dataset<double> parse<double>(const char*, std::size_t, const Options&);

}  // namespace multimargin::svmlight
