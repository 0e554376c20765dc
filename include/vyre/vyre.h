/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface of Vyre, for C and for every language that calls C. docs/c.md is the guide.
 *
 * Handles are opaque and counted. What a function gives through a pointer belongs to the caller, who releases it
 * once; releasing NULL does nothing. A handle keeps alive what it needs: a pipeline its device, a call its pipeline
 * and buffers. Using a handle after its last release is undefined, as it is for free().
 *
 * Functions that can fail return NULL when they have done their work, or an error that the caller releases; then they
 * have given nothing. Nothing is thrown and no signal is raised for what a caller does wrong. Pointers may not be NULL
 * unless it is said; a NULL that is not allowed is an error (InvalidArgument). Callbacks must return.
 *
 * All functions may be called from several threads at once, on the same handles too. After fork() the child may open
 * devices of its own; handles of the parent's devices answer with PoisonedState there, and may be released.
 *
 * Names that come in end with NUL. Texts that come out have a length and end with NUL besides. Later versions of this
 * interface only add to it. */
#ifndef VYRE_VYRE_H
#define VYRE_VYRE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define VYRE_API __attribute__((visibility("default")))
#else
#define VYRE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- versions */

/* Of this header. The library works with every caller whose number is not greater than its own. */
#define VYRE_ABI_VERSION 1
VYRE_API uint32_t vyre_abi_version(void);
/* "0.1.0" */
VYRE_API const char *vyre_version(void);

/* ---- handles */

typedef struct vyre_device vyre_device;     /* an open device */
typedef struct vyre_program vyre_program;   /* a checked program */
typedef struct vyre_pipeline vyre_pipeline; /* a program compiled for a device */
typedef struct vyre_buffer vyre_buffer;     /* memory on a device */
typedef struct vyre_call vyre_call;         /* a pipeline with its arguments, checked once */
typedef struct vyre_pending vyre_pending;   /* a dispatch that may still run */
typedef struct vyre_cancel vyre_cancel;     /* a flag that ends dispatches */
typedef struct vyre_trace vyre_trace;       /* a record of where time goes */
typedef struct vyre_data vyre_data;         /* bytes or text that the library gives */
typedef struct vyre_error vyre_error;       /* why a function has failed */

/* ---- errors: docs/driver.md says what follows from each code */

enum {
  VYRE_DEVICE_OUT_OF_MEMORY = 1001,
  VYRE_UNSUPPORTED = 1002,
  VYRE_POISONED_STATE = 1003,
  VYRE_COMPILE_FAILED = 1004,
  VYRE_DISPATCH_FAILED = 1005,
  VYRE_INVALID_PROGRAM = 1006,
  VYRE_COOPERATIVE_RESIDENCY_EXCEEDED = 1007,
  VYRE_INVALID_ARGUMENT = 1008,
  VYRE_TIMEOUT = 1009,
  VYRE_DEVICE_LOST = 1010,
  VYRE_TRAPPED = 1011,
  VYRE_OUT_OF_BOUNDS = 1012,
  VYRE_STALE_HANDLE = 1013,
  VYRE_UNAVAILABLE = 1014,
  VYRE_LIMIT_EXCEEDED = 1015,
  VYRE_HOST_OUT_OF_MEMORY = 1016,
  VYRE_INTERNAL = 1017,
  VYRE_UNKNOWN = 1999
};

/* For callbacks that fail. `message` ends with NUL. With memory for nothing else, an error that says so. */
VYRE_API vyre_error *vyre_error_make(uint32_t code, const char *message);
/* One of the codes above; 0 for NULL. */
VYRE_API uint32_t vyre_error_code(const vyre_error *error);
/* For people: all diagnostics with the lines of the program and carets, and what to do. Ends with a newline. Good
 * until the error is released. "" for NULL. */
VYRE_API const char *vyre_error_text(const vyre_error *error);
/* The same for programs: code, name, message, fix, file, line, column, length, context, diagnostics. Likewise. */
VYRE_API const char *vyre_error_json(const vyre_error *error);
VYRE_API void vyre_error_release(vyre_error *error);

/* ---- bytes and texts */

VYRE_API const void *vyre_data_bytes(const vyre_data *data); /* NULL for NULL */
VYRE_API uint64_t vyre_data_size(const vyre_data *data);     /* without the NUL; 0 for NULL */
VYRE_API void vyre_data_release(vyre_data *data);

/* ---- flags that end dispatches */

VYRE_API vyre_error *vyre_cancel_new(vyre_cancel **cancel);
/* Work with this flag ends soon, with Timeout; the flag stays set. Any thread and any signal handler may call it. */
VYRE_API void vyre_cancel_request(vyre_cancel *cancel);
VYRE_API void vyre_cancel_release(vyre_cancel *cancel);

/* ---- how programs are compiled and run */

enum { VYRE_CHOICE_AUTO = 0, VYRE_CHOICE_FORCE = 1, VYRE_CHOICE_DISABLE = 2 };
enum { VYRE_COOPERATIVE_AUTO = 0, VYRE_COOPERATIVE_REQUIRE = 1 };
enum { VYRE_TUNE_OFF = 0, VYRE_TUNE_READ = 1, VYRE_TUNE_ON = 2 };
enum { VYRE_TIMING_NONE = 0, VYRE_TIMING_DISPATCH = 1, VYRE_TIMING_SEGMENTS = 2, VYRE_TIMING_REGIONS = 3 };

/* What a lane reported by trap(tag, value). `lane` is its global number; a line of 0 is unknown. */
typedef struct vyre_trap {
  uint32_t tag;
  uint32_t value;
  uint32_t lane;
  uint32_t line;
  uint32_t column;
} vyre_trap;

/* The buffers of a dispatch while a trap handler runs. */
typedef struct vyre_memory vyre_memory;
enum { VYRE_MEMORY_READ = 0, VYRE_MEMORY_WRITE = 1 };
/* The bytes of the buffer with this name in the program, good until the handler returns. VYRE_MEMORY_WRITE: they may be
 * changed, which `inout`, `out` and `persistent` buffers allow (others: InvalidArgument). */
VYRE_API vyre_error *vyre_memory_get(vyre_memory *memory, const char *buffer, uint32_t access, void **bytes,
                                     uint64_t *size);

/* Called at each resume() that has reports. An error ends the dispatch with it; the library releases it. */
typedef vyre_error *(*vyre_trap_handler)(const vyre_trap *traps, size_t count, vyre_memory *memory, void *user);
/* How far a dispatch is. */
typedef void (*vyre_progress)(uint64_t done, uint64_t of, void *user);

/* What one execution of print() has written. `phase` counts the grid barriers before it; the text has `size` bytes, and a
 * NUL after them. */
typedef struct vyre_print_line {
  uint64_t phase;
  const char *text;
  uint64_t size;
  uint32_t lane;
  uint32_t line;
  uint32_t column;
} vyre_print_line;
/* Called once when a dispatch with `print` is over, also after an error: its lines by phase, then lane, then order.
 * `dropped` lines did not fit into print_bytes. */
typedef void (*vyre_printer)(const vyre_print_line *lines, size_t count, uint64_t dropped, void *user);

/* A collective statement as it is executed: this rank has these bytes. Names are those of the program's text ("u32",
 * "all_reduce", "add"). For all_reduce and broadcast `target` is `source`. */
typedef struct vyre_exchange {
  const char *operation;
  const char *reduce;
  const char *element;
  const char *source_name;
  const char *target_name;
  const void *source;
  uint64_t source_bytes;
  void *target;
  uint64_t target_bytes;
  uint32_t root;
  uint32_t group;
} vyre_exchange;
/* The ranks of a job. Every rank takes part in every exchange, in the same order. */
typedef struct vyre_communicator {
  size_t struct_size; /* sizeof(vyre_communicator) */
  uint32_t rank;
  uint32_t size;
  vyre_error *(*exchange)(const vyre_exchange *exchange, void *user);
  void *user;
} vyre_communicator;

/* The fields of vyre_options that `set` names. docs/driver.md says what each field does. */
#define VYRE_SET_PROFILE (UINT64_C(1) << 0)
#define VYRE_SET_ULP_BUDGET (UINT64_C(1) << 1)
#define VYRE_SET_TIMEOUT (UINT64_C(1) << 2)
#define VYRE_SET_LABEL (UINT64_C(1) << 3)
#define VYRE_SET_MAX_STATE_BYTES (UINT64_C(1) << 4)
#define VYRE_SET_MAX_OUTPUT_BYTES (UINT64_C(1) << 5)
#define VYRE_SET_WORKGROUP (UINT64_C(1) << 6)
#define VYRE_SET_GRID (UINT64_C(1) << 7)
#define VYRE_SET_GRID_FROM (UINT64_C(1) << 8)
#define VYRE_SET_FIXPOINT_ITERATIONS (UINT64_C(1) << 9)
#define VYRE_SET_SPECULATION (UINT64_C(1) << 10)
#define VYRE_SET_PERSISTENT_THREAD (UINT64_C(1) << 11)
#define VYRE_SET_COOPERATIVE (UINT64_C(1) << 12)
#define VYRE_SET_TUNE (UINT64_C(1) << 13)
#define VYRE_SET_CHECKED (UINT64_C(1) << 14)
#define VYRE_SET_UNTRUSTED (UINT64_C(1) << 15)
#define VYRE_SET_TIMING (UINT64_C(1) << 16)
#define VYRE_SET_TRAP_HANDLER (UINT64_C(1) << 17)
#define VYRE_SET_QUEUE (UINT64_C(1) << 18)
#define VYRE_SET_COMMUNICATOR (UINT64_C(1) << 19)
#define VYRE_SET_CANCEL (UINT64_C(1) << 20)
#define VYRE_SET_PROGRESS (UINT64_C(1) << 21)
#define VYRE_SET_PRINT (UINT64_C(1) << 22)
#define VYRE_SET_PRINT_BYTES (UINT64_C(1) << 23)
#define VYRE_SET_PRINT_TO (UINT64_C(1) << 24)

/* Of compiling and of running. Only fields named in `set` count; those of a call override those of its pipeline one by
 * one. The struct is copied; what `user` points to must live until the work is over. */
typedef struct vyre_options {
  size_t struct_size; /* sizeof(vyre_options) */
  uint64_t set;       /* VYRE_SET_... of the fields that count */
  const char *profile;
  const char *label;
  uint64_t timeout_ns; /* 0: none */
  uint64_t max_state_bytes;
  uint64_t max_output_bytes;
  uint32_t ulp_budget;
  uint32_t workgroup[3];
  uint32_t grid[3];
  uint32_t fixpoint_iterations;
  uint32_t speculation;       /* VYRE_CHOICE_... */
  uint32_t persistent_thread; /* VYRE_CHOICE_... */
  uint32_t cooperative;       /* VYRE_COOPERATIVE_... */
  uint32_t tune;              /* VYRE_TUNE_... */
  uint32_t timing;            /* VYRE_TIMING_... */
  uint32_t checked;           /* 0 or 1 */
  uint32_t untrusted;         /* 0 or 1 */
  uint32_t queue;
  vyre_buffer *grid_from; /* three u32 in it */
  uint64_t grid_from_offset;
  vyre_trap_handler trap_handler;
  void *trap_user;
  vyre_progress progress;
  void *progress_user;
  const vyre_communicator *communicator; /* copied */
  vyre_cancel *cancel;
  uint64_t print_bytes; /* memory for what lanes print */
  vyre_printer print_to;
  void *print_user;
  uint32_t print; /* 0 or 1: print() writes lines */
  uint32_t reserved;
} vyre_options;

/* ---- devices */

typedef struct vyre_device_options {
  size_t struct_size;          /* sizeof(vyre_device_options) */
  const char *cache_directory; /* NULL: the usual one; "": compiled code is kept nowhere */
  uint64_t memory_cache_entries; /* 0: the usual number, likewise */
  uint64_t memory_cache_bytes;
  uint32_t fresh_tuning; /* 1: records of measured strategies are replaced instead of read */
  uint32_t reserved;     /* 0 */
  void (*warn)(const char *text, size_t size, void *user); /* about the cache, at most once; may be NULL */
  void *warn_user;
} vyre_device_options;

/* All devices that the library sees, as `vyre devices --json` lists them; none is opened. */
VYRE_API vyre_error *vyre_devices(vyre_data **json);
/* "cpu", "cuda:1"; NULL: the best GPU, else the CPU. `options` may be NULL. */
VYRE_API vyre_error *vyre_device_open(const char *id, const vyre_device_options *options, vyre_device **device);
/* "cuda:1"; good as long as the device. "" for NULL. */
VYRE_API const char *vyre_device_id(const vyre_device *device);
/* id, kind, version, signature, architecture, lost, capabilities, profile. */
VYRE_API vyre_error *vyre_device_info(vyre_device *device, vyre_data **json);
VYRE_API vyre_error *vyre_device_telemetry(vyre_device *device, vyre_data **json);
/* From now on work of this device is recorded in `trace`; NULL: no longer. The device keeps it alive. */
VYRE_API vyre_error *vyre_device_set_trace(vyre_device *device, vyre_trace *trace);
/* Waits for all work that was started. */
VYRE_API vyre_error *vyre_device_flush(vyre_device *device);
/* After a loss: a new life of the device. Its buffers and pipelines of before are stale. */
VYRE_API vyre_error *vyre_device_recover(vyre_device *device);
/* Waits for all work; later calls are PoisonedState. */
VYRE_API vyre_error *vyre_device_shutdown(vyre_device *device);
VYRE_API vyre_device *vyre_device_retain(vyre_device *device); /* the same handle */
VYRE_API void vyre_device_release(vyre_device *device);

/* Events after the first `max_events` are only counted; 0: a million. */
VYRE_API vyre_error *vyre_trace_new(uint64_t max_events, vyre_trace **trace);
/* So far, as a Chrome trace-event document. */
VYRE_API vyre_error *vyre_trace_json(vyre_trace *trace, vyre_data **json);
VYRE_API void vyre_trace_release(vyre_trace *trace);

/* ---- programs */

/* Parsed and checked. `file` is a name for positions and may be NULL; of `options`, which may be NULL, timeout and
 * cancel count. The error of an invalid program has all diagnostics. */
VYRE_API vyre_error *vyre_program_parse(const char *text, size_t size, const char *file, const vyre_options *options,
                                        vyre_program **program);
/* From the bytes of vyre_program_bytes(). */
VYRE_API vyre_error *vyre_program_decode(const void *bytes, size_t size, vyre_program **program);
VYRE_API vyre_error *vyre_program_text(vyre_program *program, vyre_data **text);
VYRE_API vyre_error *vyre_program_bytes(vyre_program *program, vyre_data **bytes);
/* Of the canonical bytes: equal programs, and only those, have equal digests. */
VYRE_API vyre_error *vyre_program_digest(vyre_program *program, uint8_t digest[32]);
/* By declaration: name, kind, type, element_bytes, count (null: not constant), input, output and binding (numbers or
 * null), align, written (whether the program may change it). */
VYRE_API vyre_error *vyre_program_buffers(vyre_program *program, vyre_data **json);
/* The warnings of a valid program, as `vyre check --json` lists them. */
VYRE_API vyre_error *vyre_program_diagnostics(vyre_program *program, vyre_data **json);
VYRE_API vyre_program *vyre_program_retain(vyre_program *program);
VYRE_API void vyre_program_release(vyre_program *program);

/* ---- compiling. `options` may be NULL */

VYRE_API vyre_error *vyre_compile(vyre_device *device, vyre_program *program, const vyre_options *options,
                                  vyre_pipeline **pipeline);
VYRE_API vyre_error *vyre_compile_text(vyre_device *device, const char *text, size_t size, const char *file,
                                       const vyre_options *options, vyre_pipeline **pipeline);
/* What was compiled, for what and by what. */
VYRE_API vyre_error *vyre_pipeline_manifest(vyre_pipeline *pipeline, vyre_data **json);
VYRE_API vyre_pipeline *vyre_pipeline_retain(vyre_pipeline *pipeline);
VYRE_API void vyre_pipeline_release(vyre_pipeline *pipeline);

/* ---- buffers on a device */

enum { VYRE_ZEROS = 0, VYRE_UNINITIALISED = 1 };
/* `alignment` 0: the usual one; else a power of two, for buffers with a larger @align. */
VYRE_API vyre_error *vyre_buffer_allocate(vyre_device *device, uint64_t bytes, uint32_t contents, uint64_t alignment,
                                          vyre_buffer **buffer);
/* `from` may be NULL if `bytes` is 0. */
VYRE_API vyre_error *vyre_buffer_upload(vyre_device *device, const void *from, uint64_t bytes, uint64_t alignment,
                                        vyre_buffer **buffer);
VYRE_API uint64_t vyre_buffer_size(const vyre_buffer *buffer); /* bytes; 0 for NULL */
VYRE_API vyre_error *vyre_buffer_read(vyre_buffer *buffer, uint64_t offset, void *to, uint64_t bytes);
VYRE_API vyre_error *vyre_buffer_write(vyre_buffer *buffer, uint64_t offset, const void *from, uint64_t bytes);
VYRE_API vyre_error *vyre_buffer_fill(vyre_buffer *buffer, uint8_t value);
VYRE_API vyre_buffer *vyre_buffer_retain(vyre_buffer *buffer);
/* The last release waits for work that uses the buffer. */
VYRE_API void vyre_buffer_release(vyre_buffer *buffer);

/* ---- dispatches */

/* An argument: bytes of the host, or a buffer of the device. As an input, the bytes are read. As an output, the memory
 * must have room for the result, or the result stays in the buffer; with neither it is dropped. */
typedef struct vyre_arg {
  void *data;          /* of the host, or NULL */
  uint64_t size;       /* bytes there */
  vyre_buffer *buffer; /* on the device, or NULL */
  uint64_t written;    /* output: bytes that the result has; set by the library, and only there */
} vyre_arg;
/* An array; memory; a buffer; nothing. */
#define VYRE_BYTES(array) \
  { (void *)(array), sizeof(array), NULL, 0 }
#define VYRE_MEMORY(pointer, bytes) \
  { (void *)(pointer), (bytes), NULL, 0 }
#define VYRE_RESIDENT(buffer) \
  { NULL, 0, (buffer), 0 }
#define VYRE_NOWHERE \
  { NULL, 0, NULL, 0 }

/* Inputs and outputs in the order of their declarations; an `inout` is both. `outputs` has all of them or none
 * (count 0: every result of the host is dropped). Memory of an output may be that of an input. If the memory for an
 * output is too small, nothing runs, `written` of each output says what it needs, and the error is InvalidArgument.
 * `options` and `report` may be NULL; a report has the fields of `vyre run --json`. */
VYRE_API vyre_error *vyre_dispatch(vyre_pipeline *pipeline, const vyre_arg *inputs, size_t input_count,
                                   vyre_arg *outputs, size_t output_count, const vyre_options *options,
                                   vyre_data **report);
/* The bytes of every output that a dispatch with these inputs gives; nothing runs. */
VYRE_API vyre_error *vyre_output_sizes(vyre_pipeline *pipeline, const vyre_arg *inputs, size_t input_count,
                                       uint64_t *sizes, size_t output_count);
/* The plan of a dispatch, as `vyre plan --json` writes it. Without inputs (NULL, 0): as far as it is known. */
VYRE_API vyre_error *vyre_pipeline_plan(vyre_pipeline *pipeline, const vyre_arg *inputs, size_t input_count,
                                        const vyre_options *options, vyre_data **json);

/* Arguments checked once, to be run often. Memory of the host is read and written at each run and must live as long
 * as the call; its sizes stay. */
VYRE_API vyre_error *vyre_bind(vyre_pipeline *pipeline, const vyre_arg *inputs, size_t input_count, vyre_arg *outputs,
                               size_t output_count, const vyre_options *options, vyre_call **call);
VYRE_API vyre_error *vyre_call_run(vyre_call *call, vyre_data **report);
/* Returns before the work is done; inputs have been read then. Memory of outputs is written by vyre_pending_wait(). */
VYRE_API vyre_error *vyre_call_start(vyre_call *call, vyre_pending **pending);
VYRE_API void vyre_call_release(vyre_call *call);

/* 1: the result is there, or the error. */
VYRE_API int vyre_pending_done(const vyre_pending *pending);
/* Waits at most so long (UINT64_MAX: as long as it takes) and then gives the result, once. `done` (may be NULL) becomes
 * 0 if the time was over first, which is then no error; without it that is Timeout. One thread waits at a time. */
VYRE_API vyre_error *vyre_pending_wait(vyre_pending *pending, uint64_t timeout_ns, int *done, vyre_data **report);
/* The dispatch ends soon, with Timeout. With a `cancel` in the options that flag does it instead. */
VYRE_API void vyre_pending_cancel(vyre_pending *pending);
/* Work that still runs finishes on its own; its result is dropped. */
VYRE_API void vyre_pending_release(vyre_pending *pending);

/* ---- sequences: many dispatches as one submission */

typedef struct vyre_read {
  vyre_buffer *buffer;
  uint64_t offset;
  void *to;
  uint64_t bytes;
} vyre_read;
/* The prefix once, the repeated calls so often, the suffix once; then the reads. The results of all calls stay in
 * buffers: none has memory of the host for an output. */
typedef struct vyre_sequence {
  size_t struct_size; /* sizeof(vyre_sequence) */
  vyre_call *const *prefix;
  size_t prefix_count;
  vyre_call *const *repeated;
  size_t repeated_count;
  vyre_call *const *suffix;
  size_t suffix_count;
  const vyre_read *reads;
  size_t read_count;
  uint32_t repeats;
  uint32_t reserved; /* 0 */
} vyre_sequence;
VYRE_API vyre_error *vyre_sequence_run(vyre_device *device, const vyre_sequence *sequence, vyre_data **report);

#ifdef __cplusplus
}
#endif

#endif
