// How long the allocator keeps memory that was freed before the system gets it back, in milliseconds. Its own default,
// 10, gives back in the middle of a request what the same request or the next one needs again, and each page is then
// cleared and mapped anew: a fifth of the processor time of a fan-out of five hundred requests, and of a sort of a
// million rows. MIMALLOC_PURGE_DELAY says otherwise.
//
// In C, because Rust can set it by nothing but `unsafe`.

#include <mimalloc.h>

#define KEPT_MS 1000

__attribute__((constructor)) static void keep_freed_memory(void) {
  mi_option_set_default(mi_option_purge_delay, KEPT_MS);
}

#ifdef __linux__

// What one thread frees of another's memory waits in a list of its owner, who looks there once in a hundred of the
// allocations that need a new page. A worker makes few and large ones, and heavy threads free them: hundreds of
// megabytes would wait. So it looks before each block that has a page of its own, which costs one load if there is
// nothing. The function is one of the allocator's own; it has no public name.
#define PAGE_OF_ITS_OWN_BYTES (128 * 1024)

_Bool _mi_heap_delayed_free_partial(mi_heap_t *heap);

static void take_back(size_t size) {
  if (size > PAGE_OF_ITS_OWN_BYTES) _mi_heap_delayed_free_partial(mi_heap_get_default());
}

// Rust names an alignment with each size. Up to that of a pointer every block has it anyway, and the ways without an
// alignment take half the instructions; they are a thirtieth of those of a request. The linker leads the calls here
// (`--wrap`, in build.rs).

void *__real_mi_malloc_aligned(size_t size, size_t alignment);
void *__real_mi_zalloc_aligned(size_t size, size_t alignment);
void *__real_mi_realloc_aligned(void *block, size_t size, size_t alignment);

void *__wrap_mi_malloc_aligned(size_t size, size_t alignment) {
  take_back(size);
  return alignment <= sizeof(void *) ? mi_malloc(size) : __real_mi_malloc_aligned(size, alignment);
}

void *__wrap_mi_zalloc_aligned(size_t size, size_t alignment) {
  take_back(size);
  return alignment <= sizeof(void *) ? mi_zalloc(size) : __real_mi_zalloc_aligned(size, alignment);
}

void *__wrap_mi_realloc_aligned(void *block, size_t size, size_t alignment) {
  take_back(size);
  return alignment <= sizeof(void *) ? mi_realloc(block, size) : __real_mi_realloc_aligned(block, size, alignment);
}

#endif
