// Storage for the big arrays: not initialised on allocation and backed by huge
// pages where the system offers them (weights are read at random, so with 4 KiB
// pages every access would also miss the translation cache).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace multimargin {

template <class U>
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  // Makes room for `count` elements; what was in the buffer is lost. A large buffer has room to
  // grow and is kept, which takes no memory: what was never touched, or is given back, is not
  // there.
  void reset(std::size_t count) {
    if (count <= capacity_ && (is_large() || count * 4 >= capacity_)) {
      size_ = count;
      give_back_rest();
      return;
    }
    std::free(data_);
    data_ = nullptr;
    size_ = capacity_ = 0;
    if (count * sizeof(U) <= kLarge || !allocate(count + count / 2))
      if (!allocate(count)) throw std::bad_alloc();
    size_ = count;
  }

  U* data() { return data_; }
  const U* data() const { return data_; }
  std::size_t size() const { return size_; }
  U& operator[](std::size_t i) { return data_[i]; }
  const U& operator[](std::size_t i) const { return data_[i]; }

  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  static constexpr std::size_t kLarge = std::size_t{1} << 26, kHuge = std::size_t{2} << 20;

  bool is_large() const { return capacity_ * sizeof(U) > kLarge; }

  bool allocate(std::size_t count) {
    const std::size_t align = count * sizeof(U) >= kHuge ? kHuge : 64;
    const std::size_t bytes = (count * sizeof(U) + align - 1) / align * align;
    if (bytes == 0) return true;
    void* p = std::aligned_alloc(align, bytes);
    if (p == nullptr) return false;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (align == kHuge) madvise(p, bytes, MADV_HUGEPAGE);
#endif
    data_ = static_cast<U*>(p);
    capacity_ = bytes / sizeof(U);
    return true;
  }

  void give_back_rest() {
#if defined(__linux__)
    const std::size_t used = (size_ * sizeof(U) + kHuge - 1) / kHuge * kHuge;
    const std::size_t all = capacity_ * sizeof(U) / kHuge * kHuge;
    if (is_large() && used < all)
      madvise(reinterpret_cast<char*>(data_) + used, all - used, MADV_DONTNEED);
#endif
  }

  U* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace multimargin
