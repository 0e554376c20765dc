// SPDX-License-Identifier: Apache-2.0
#include "text/habits.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace vyre::text {

namespace {

struct Row {
  std::string_view word;
  std::string_view advice;
};

constexpr std::string_view kGid = "a lane's place in the grid is `gid.x`, `gid.y`, `gid.z`";
constexpr std::string_view kLid = "a lane's place in its workgroup is `lid.x`, `lid.y`, `lid.z`";
constexpr std::string_view kWid = "a workgroup's place in the grid is `wid.x`, `wid.y`, `wid.z`";
constexpr std::string_view kWorkgroupSize =
    "the size of a workgroup is `workgroup_size.x`, `workgroup_size.y`, `workgroup_size.z`";
constexpr std::string_view kNumWorkgroups =
    "the number of workgroups is `num_workgroups.x`, `num_workgroups.y`, `num_workgroups.z`";
constexpr std::string_view kGridSize =
    "the number of lanes is `num_workgroups.x * workgroup_size.x`";
constexpr std::string_view kFlatLane =
    "a flat number is `(lid.z * workgroup_size.y + lid.y) * workgroup_size.x + lid.x`";
constexpr std::string_view kBarrierWorkgroup = "write the statement `barrier workgroup;`";
constexpr std::string_view kBarrierGrid =
    "write the statement `barrier grid;`, which may stand in any program";
constexpr std::string_view kBarrierSubgroup = "write the statement `barrier subgroup;`";
constexpr std::string_view kFence =
    "barriers order memory, `barrier workgroup;` or `barrier grid;`; between two lanes use atomic "
    "operations with `acquire` and `release`";
constexpr std::string_view kPrint = "write `print(\"x = {}\", x);` and run with `vyre run --print`";
constexpr std::string_view kVector =
    "there are no vector types; use a value for each component, or more lanes";
constexpr std::string_view kVectorFunction =
    "there are no vectors; write it out over the components, as in `sqrt(x * x + y * y)`";
constexpr std::string_view kPointerCast = "reinterpret bits with `bitcast<u32>(x)`";
constexpr std::string_view kCast = "convert a value with `x as f32`";
constexpr std::string_view kNull = "there are no pointers; use an index that no element has";
constexpr std::string_view kAllocate =
    "memory is declared in the program: `shared s : f32[64];` for a workgroup, `var a : f32[8];` "
    "for a lane";
constexpr std::string_view kInfinity = "write `1.0 / 0.0`, which is infinite";
constexpr std::string_view kNan = "write `0.0 / 0.0`, which is not a number";
constexpr std::string_view kLen = "the number of elements of a buffer `a` is `len(a)`";
constexpr std::string_view kRange = "write `for i in 0 .. n { ... }`";
constexpr std::string_view kNamespace = "built-in functions have no prefix: write `min(a, b)`";
constexpr std::string_view kNumpy =
    "there are no arrays as values; each lane computes an element, as in `y[gid.x] = "
    "sqrt(x[gid.x]);`";

constexpr std::array kNames = std::to_array<Row>({
    // ---- places of lanes
    {"threadIdx",
     "a lane's place in its workgroup is `lid.x`, and `blockIdx.x * blockDim.x + threadIdx.x` is "
     "`gid.x`"},
    {"blockIdx",
     "a workgroup's place in the grid is `wid.x`, and `blockIdx.x * blockDim.x + threadIdx.x` is "
     "`gid.x`"},
    {"blockDim",
     "the size of a workgroup is `workgroup_size.x`, and `blockIdx.x * blockDim.x + threadIdx.x` "
     "is `gid.x`"},
    {"gridDim", kNumWorkgroups},
    {"warpSize", "the lanes of a subgroup are `subgroup_size`"},
    {"laneid", "a lane's place in its subgroup is `subgroup_lane`"},
    {"lane_id", "a lane's place in its subgroup is `subgroup_lane`"},
    {"warp_id", "a subgroup's place in its workgroup is `subgroup_id`"},
    {"get_global_id", kGid},
    {"get_local_id", kLid},
    {"get_group_id", kWid},
    {"get_local_size", kWorkgroupSize},
    {"get_num_groups", kNumWorkgroups},
    {"get_global_size", kGridSize},
    {"get_local_linear_id", kFlatLane},
    {"gl_GlobalInvocationID", kGid},
    {"gl_LocalInvocationID", kLid},
    {"gl_LocalInvocationIndex", kFlatLane},
    {"gl_WorkGroupID", kWid},
    {"gl_WorkGroupSize", kWorkgroupSize},
    {"gl_NumWorkGroups", kNumWorkgroups},
    {"gl_SubgroupSize", "the lanes of a subgroup are `subgroup_size`"},
    {"gl_SubgroupInvocationID", "a lane's place in its subgroup is `subgroup_lane`"},
    {"global_invocation_id", kGid},
    {"global_id", kGid},
    {"local_invocation_id", kLid},
    {"local_id", kLid},
    {"local_invocation_index", kFlatLane},
    {"workgroup_id", kWid},
    {"group_id", kWid},
    {"SV_DispatchThreadID", kGid},
    {"SV_GroupThreadID", kLid},
    {"SV_GroupID", kWid},
    {"SV_GroupIndex", kFlatLane},
    {"thread_position_in_grid", kGid},
    {"thread_position_in_threadgroup", kLid},
    {"threadgroup_position_in_grid", kWid},
    {"tid", kGid},
    {"program_id", kWid},
    {"cuda",
     "a lane's places are `gid.x`, `wid.x` and `lid.x`, and a barrier is `barrier workgroup;`"},
    // ---- barriers
    {"__syncthreads", kBarrierWorkgroup},
    {"syncthreads", kBarrierWorkgroup},
    {"__syncwarp", kBarrierSubgroup},
    {"subgroupBarrier", kBarrierSubgroup},
    {"workgroupBarrier", kBarrierWorkgroup},
    {"storageBarrier", kBarrierWorkgroup},
    {"work_group_barrier", kBarrierWorkgroup},
    {"threadgroup_barrier", kBarrierWorkgroup},
    {"GroupMemoryBarrierWithGroupSync", kBarrierWorkgroup},
    {"this_grid", kBarrierGrid},
    {"grid_sync", kBarrierGrid},
    {"cg", kBarrierGrid},
    {"cooperative_groups", kBarrierGrid},
    {"memoryBarrier", kFence},
    {"memoryBarrierShared", kFence},
    {"memoryBarrierBuffer", kFence},
    {"groupMemoryBarrier", kFence},
    {"mem_fence", kFence},
    {"__threadfence", kFence},
    {"__threadfence_block", kFence},
    // ---- atomics
    {"atomicAdd", "write `atomic_add(b[i], value)`"},
    {"atomicSub", "write `atomic_sub(b[i], value)`"},
    {"atomicMin", "write `atomic_min(b[i], value)`"},
    {"atomicMax", "write `atomic_max(b[i], value)`"},
    {"atomicAnd", "write `atomic_and(b[i], value)`"},
    {"atomicOr", "write `atomic_or(b[i], value)`"},
    {"atomicXor", "write `atomic_xor(b[i], value)`"},
    {"atomicExch", "write `atomic_exchange(b[i], value)`"},
    {"atomicExchange", "write `atomic_exchange(b[i], value)`"},
    {"atomicCAS", "write `atomic_cas(b[i], expected, new)`"},
    {"atomicCompSwap", "write `atomic_cas(b[i], expected, new)`"},
    {"atomicCompareExchangeWeak", "write `atomic_cas(b[i], expected, new)`"},
    {"atomic_cmpxchg", "write `atomic_cas(b[i], expected, new)`"},
    {"atomic_compare_exchange", "write `atomic_cas(b[i], expected, new)`"},
    {"atomicInc", "write `atomic_add(b[i], 1)`"},
    {"atomic_inc", "write `atomic_add(b[i], 1)`"},
    {"atomicDec", "write `atomic_sub(b[i], 1)`"},
    {"atomic_dec", "write `atomic_sub(b[i], 1)`"},
    {"atomic_xchg", "write `atomic_exchange(b[i], value)`"},
    {"atomic_fetch_add", "write `atomic_add(b[i], value)`, which gives the old value"},
    {"atomic_fetch_sub", "write `atomic_sub(b[i], value)`, which gives the old value"},
    {"atomic_fetch_min", "write `atomic_min(b[i], value)`, which gives the old value"},
    {"atomic_fetch_max", "write `atomic_max(b[i], value)`, which gives the old value"},
    {"InterlockedAdd", "write `atomic_add(b[i], value)`, which gives the old value"},
    {"InterlockedMin", "write `atomic_min(b[i], value)`, which gives the old value"},
    {"InterlockedMax", "write `atomic_max(b[i], value)`, which gives the old value"},
    {"InterlockedExchange", "write `atomic_exchange(b[i], value)`"},
    {"InterlockedCompareExchange", "write `atomic_cas(b[i], expected, new)`"},
    {"atomicLoad", "write `atomic_load(b[i])`"},
    {"atomicStore", "write `atomic_store(b[i], value)`"},
    // ---- subgroups
    {"__shfl_sync", "write `subgroup_shuffle(x, lane)`"},
    {"__shfl_xor_sync", "write `subgroup_shuffle_xor(x, mask)`"},
    {"__shfl_up_sync", "write `subgroup_shuffle_up(x, distance)`"},
    {"__shfl_down_sync", "write `subgroup_shuffle_down(x, distance)`"},
    {"__ballot_sync", "write `subgroup_ballot(condition)`"},
    {"__any_sync", "write `subgroup_any(condition)`"},
    {"__all_sync", "write `subgroup_all(condition)`"},
    {"__reduce_add_sync", "write `subgroup_add(x)`"},
    {"__reduce_min_sync", "write `subgroup_min(x)`"},
    {"__reduce_max_sync", "write `subgroup_max(x)`"},
    {"__activemask", "which lanes have not ended is `subgroup_ballot(true)`"},
    {"subgroupAdd", "write `subgroup_add(x)`"},
    {"subgroupMul", "write `subgroup_mul(x)`"},
    {"subgroupMin", "write `subgroup_min(x)`"},
    {"subgroupMax", "write `subgroup_max(x)`"},
    {"subgroupAny", "write `subgroup_any(condition)`"},
    {"subgroupAll", "write `subgroup_all(condition)`"},
    {"subgroupBallot", "write `subgroup_ballot(condition)`"},
    {"subgroupShuffle", "write `subgroup_shuffle(x, lane)`"},
    {"subgroupShuffleXor", "write `subgroup_shuffle_xor(x, mask)`"},
    {"subgroupBroadcast", "write `subgroup_broadcast(x, lane)`"},
    {"subgroupBroadcastFirst", "write `subgroup_broadcast(x, 0)`"},
    {"subgroupExclusiveAdd", "write `subgroup_exclusive_add(x)`"},
    {"subgroupInclusiveAdd", "write `subgroup_inclusive_add(x)`"},
    {"WaveActiveSum", "write `subgroup_add(x)`"},
    {"WaveGetLaneIndex", "a lane's place in its subgroup is `subgroup_lane`"},
    {"simd_sum", "write `subgroup_add(x)`"},
    // ---- functions of numbers
    {"fabs", "write `abs(x)`"},
    {"fabsf", "write `abs(x)`"},
    {"fmin", "write `min(a, b)`"},
    {"fminf", "write `min(a, b)`"},
    {"fmax", "write `max(a, b)`"},
    {"fmaxf", "write `max(a, b)`"},
    {"sqrtf", "write `sqrt(x)`"},
    {"rsqrtf", "write `rsqrt(x)`"},
    {"inversesqrt", "write `rsqrt(x)`"},
    {"inverseSqrt", "write `rsqrt(x)`"},
    {"expf", "write `exp(x)`"},
    {"exp2f", "write `exp2(x)`"},
    {"logf", "write `log(x)`"},
    {"log2f", "write `log2(x)`"},
    {"powf", "write `pow(x, y)`"},
    {"sinf", "write `sin(x)`"},
    {"cosf", "write `cos(x)`"},
    {"tanf", "write `tan(x)`"},
    {"tanhf", "write `tanh(x)`"},
    {"floorf", "write `floor(x)`"},
    {"ceilf", "write `ceil(x)`"},
    {"truncf", "write `trunc(x)`"},
    {"roundf", "write `round(x)`, which rounds halves to even"},
    {"fmaf", "write `fma(a, b, c)`"},
    {"__expf", "write `exp(x)`"},
    {"__logf", "write `log(x)`"},
    {"__sinf", "write `sin(x)`"},
    {"__cosf", "write `cos(x)`"},
    {"__powf", "write `pow(x, y)`"},
    {"__fdividef", "write `a / b`"},
    {"__fmaf_rn", "write `fma(a, b, c)`"},
    {"native_exp", "write `exp(x)`"},
    {"native_sin", "write `sin(x)`"},
    {"native_sqrt", "write `sqrt(x)`"},
    {"mad", "write `fma(a, b, c)` for one rounding, `a * b + c` for two"},
    {"fmod", "write `x - y * trunc(x / y)`, or `x % y` for integers"},
    {"mod", "write `x % y` for integers, `x - y * floor(x / y)` for floats"},
    {"mix", "write `a + (b - a) * t`"},
    {"lerp", "write `a + (b - a) * t`"},
    {"saturate", "write `clamp(x, 0.0, 1.0)`"},
    {"frac", "write `x - floor(x)`"},
    {"fract", "write `x - floor(x)`"},
    {"smoothstep",
     "write `t * t * (3.0 - 2.0 * t)` with `let t = clamp((x - a) / (b - a), 0.0, 1.0);`"},
    {"radians", "write `x * 0.017453292519943295`"},
    {"degrees", "write `x * 57.29577951308232`"},
    {"log10f", "write `log10(x)`"},
    {"exp10f", "write `exp10(x)`"},
    {"pow10", "write `exp10(x)`"},
    {"log1pf", "write `log1p(x)`"},
    {"expm1f", "write `expm1(x)`"},
    {"hypotf", "write `hypot(x, y)`"},
    {"cbrtf", "write `cbrt(x)`"},
    {"atan2f", "write `atan2(y, x)`"},
    {"erff", "write `erf(x)`"},
    {"erfc", "write `1.0 - erf(x)`, which is less exact where erf(x) is near 1"},
    {"isnan", "write `is_nan(x)`"},
    {"isNan", "write `is_nan(x)`"},
    {"isinf", "write `is_inf(x)`"},
    {"isfinite", "write `is_finite(x)`"},
    {"__popc", "write `popcount(x)`"},
    {"__popcll", "write `popcount(x)`"},
    {"bitCount", "write `popcount(x)`"},
    {"countOneBits", "write `popcount(x)`"},
    {"countbits", "write `popcount(x)`"},
    {"__clz", "write `clz(x)`"},
    {"countLeadingZeros", "write `clz(x)`"},
    {"firstLeadingBit", "write `31 - clz(x)`"},
    {"findMSB", "write `31 - clz(x)`"},
    {"__ffs", "write `ctz(x) + 1`"},
    {"countTrailingZeros", "write `ctz(x)`"},
    {"firstTrailingBit", "write `ctz(x)`"},
    {"findLSB", "write `ctz(x)`"},
    {"__brev", "write `reverse_bits(x)`"},
    {"reverseBits", "write `reverse_bits(x)`"},
    {"bitfieldReverse", "write `reverse_bits(x)`"},
    {"__umulhi", "write `mul_hi(a, b)`"},
    {"__mulhi", "write `mul_hi(a, b)`"},
    {"rotate", "write `rotl(x, n)`"},
    {"__funnelshift_l", "write `rotl(x, n)` if both words are the same"},
    {"__ldg", "write `a[i]`; reads of `in` buffers are cached"},
    {"swap", "write `let t = a; a = b; b = t;` for values"},
    {"dot", kVectorFunction},
    {"cross", kVectorFunction},
    {"normalize", kVectorFunction},
    {"length", "the number of elements of a buffer `a` is `len(a)`; there are no vectors"},
    {"distance", kVectorFunction},
    // ---- conversions
    {"static_cast", kCast},
    {"reinterpret_cast", kPointerCast},
    {"as_float", "write `bitcast<f32>(x)`"},
    {"as_uint", "write `bitcast<u32>(x)`"},
    {"as_int", "write `bitcast<i32>(x)`"},
    {"asfloat", "write `bitcast<f32>(x)`"},
    {"asuint", "write `bitcast<u32>(x)`"},
    {"asint", "write `bitcast<i32>(x)`"},
    {"__int_as_float", "write `bitcast<f32>(x)`"},
    {"__uint_as_float", "write `bitcast<f32>(x)`"},
    {"__float_as_int", "write `bitcast<i32>(x)`"},
    {"__float_as_uint", "write `bitcast<u32>(x)`"},
    {"intBitsToFloat", "write `bitcast<f32>(x)`"},
    {"uintBitsToFloat", "write `bitcast<f32>(x)`"},
    {"floatBitsToInt", "write `bitcast<i32>(x)`"},
    {"floatBitsToUint", "write `bitcast<u32>(x)`"},
    {"convert_float", "write `x as f32`"},
    {"convert_int", "write `x as i32`"},
    {"float2int", "write `x as i32`"},
    // ---- vectors
    {"vec2", kVector},
    {"vec3", kVector},
    {"vec4", kVector},
    {"float2", kVector},
    {"float3", kVector},
    {"float4", kVector},
    {"int2", kVector},
    {"int3", kVector},
    {"int4", kVector},
    {"uint2", kVector},
    {"uint3", kVector},
    {"uint4", kVector},
    {"make_float2", kVector},
    {"make_float3", kVector},
    {"make_float4", kVector},
    {"make_int2", kVector},
    {"mat4", kVector},
    {"array", "a private array is `var a : f32[8];`, a table `const t : f32[] = {1.0, 2.0};`"},
    // ---- values
    {"True", "write `true`"},
    {"False", "write `false`"},
    {"None", kNull},
    {"NULL", kNull},
    {"nullptr", kNull},
    {"INFINITY", kInfinity},
    {"inf", kInfinity},
    {"NAN", kNan},
    {"nan", kNan},
    {"M_PI", "write `const Pi : f32 = 3.141592653589793;`"},
    {"PI", "write `const Pi : f32 = 3.141592653589793;`"},
    {"FLT_MAX", "write `3.4028234663852886e38`"},
    {"FLT_MIN", "write `1.1754943508222875e-38`"},
    {"FLT_EPSILON", "write `1.1920928955078125e-7`"},
    {"INT_MAX", "write `2147483647`"},
    {"INT_MIN", "write `-2147483648`"},
    {"UINT_MAX", "write `4294967295`"},
    {"this", "there are no methods; pass what a function needs"},
    {"self", "there are no methods; pass what a function needs"},
    // ---- the rest
    {"printf", kPrint},
    {"print", kPrint},
    {"println", kPrint},
    {"debugPrintfEXT", kPrint},
    {"cout", kPrint},
    {"assert", "write `assert(condition, \"text\");`, which holds in checked mode"},
    {"abort", "write `trap(1, value);`"},
    {"exit", "write `trap(1, value);`, or `return;` to end this lane alone"},
    {"malloc", kAllocate},
    {"free", kAllocate},
    {"sizeof", "lengths and indices count elements: `len(a)`"},
    {"arrayLength", kLen},
    {"size", kLen},
    {"range", kRange},
    {"xrange", kRange},
    {"prange", kRange},
    {"std", kNamespace},
    {"metal", kNamespace},
    {"math", kNamespace},
    {"np", kNumpy},
    {"jnp", kNumpy},
    {"torch", kNumpy},
    {"tl", "each lane computes an element, `y[gid.x] = ...;`, and a workgroup's place is `wid.x`"},
});

constexpr std::array kTypes = std::to_array<Row>({
    {"float", "f32"},     {"double", "f64"},         {"int", "i32"},      {"uint", "u32"},
    {"unsigned", "u32"},  {"signed", "i32"},         {"long", "i64"},     {"ulong", "u64"},
    {"short", "i16"},     {"ushort", "u16"},         {"char", "i8"},      {"uchar", "u8"},
    {"byte", "u8"},       {"half", "f16"},           {"__half", "f16"},   {"float16", "f16"},
    {"bfloat16", "bf16"}, {"__nv_bfloat16", "bf16"}, {"float32", "f32"},  {"float64", "f64"},
    {"float32_t", "f32"}, {"float64_t", "f64"},      {"int8", "i8"},      {"int16", "i16"},
    {"int32", "i32"},     {"int64", "i64"},          {"uint8", "u8"},     {"uint16", "u16"},
    {"uint32", "u32"},    {"uint64", "u64"},         {"int8_t", "i8"},    {"int16_t", "i16"},
    {"int32_t", "i32"},   {"int64_t", "i64"},        {"uint8_t", "u8"},   {"uint16_t", "u16"},
    {"uint32_t", "u32"},  {"uint64_t", "u64"},       {"size_t", "u64"},   {"ptrdiff_t", "i64"},
    {"usize", "u64"},     {"isize", "i64"},          {"boolean", "bool"}, {"_Bool", "bool"},
});

constexpr std::string_view kOneProgram =
    "a file holds one program, `program name { workgroup 64; ... }`, with its buffers and "
    "statements inside";
constexpr std::string_view kDeclare =
    "write `let x = ...;`, or `var x = ...;` for what changes; the type may stand after the name, "
    "`let x : f32 = ...;`";
constexpr std::string_view kShared =
    "write `shared s : f32[64];` directly in the program, outside of all blocks";
constexpr std::string_view kUntil =
    "write `while true { ... if !condition { break; } }`, or `while condition { ... }`";
constexpr std::string_view kSwitch =
    "write `if x == 0 { ... } else if x == 1 { ... } else { ... }`";
constexpr std::string_view kStruct = "use a value or a buffer for each field";
constexpr std::string_view kFunction = "write `fn name(x : f32) -> f32 { ... }`";
constexpr std::string_view kQualifier = "leave it out";
constexpr std::string_view kImport =
    "a program stands alone; write the functions that it needs in it, `fn name(x : f32) -> f32`";

constexpr std::array kStatements = std::to_array<Row>({
    {"do", kUntil},
    {"loop", "write `while true { ... }`"},
    {"repeat", kUntil},
    {"until", kUntil},
    {"foreach", kRange},
    {"switch", kSwitch},
    {"match", kSwitch},
    {"case", kSwitch},
    {"default", kSwitch},
    {"elif", "write `else if condition { ... }`"},
    {"elsif", "write `else if condition { ... }`"},
    {"unless", "write `if !condition { ... }`"},
    {"goto", "use `break`, `continue`, `return` and blocks"},
    {"pass", "leave it out; a block may be empty"},
    {"discard", "end the lane with `return;`"},
    {"yield", "store the value in a buffer"},
    {"throw", "write `trap(1, value);`"},
    {"raise", "write `trap(1, value);`"},
    {"try", "errors of a program are traps, `trap(1, value);`"},
    {"auto", kDeclare},
    {"val", kDeclare},
    {"mut", kDeclare},
    {"local", kDeclare},
    {"void", kFunction},
    {"def", kFunction},
    {"func", kFunction},
    {"function", kFunction},
    {"__device__", kFunction},
    {"inline", kFunction},
    {"template", "write a function for each type"},
    {"struct", kStruct},
    {"class", kStruct},
    {"union", "reinterpret bits with `bitcast<u32>(x)`"},
    {"enum", "write `const Name : u32 = 0;` for each value"},
    {"typedef", "types have one name each: f32, u32, ..."},
    {"using", kImport},
    {"import", kImport},
    {"from", kImport},
    {"include", kImport},
    {"namespace", kImport},
    {"use", kImport},
    {"__shared__", kShared},
    {"groupshared", kShared},
    {"threadgroup", kShared},
    {"__local", kShared},
    {"__constant__", "write `const t : f32[] = {1.0, 2.0};`, or use an `in` buffer"},
    {"__constant", "write `const t : f32[] = {1.0, 2.0};`, or use an `in` buffer"},
    {"static", kQualifier},
    {"volatile", "use atomic operations, or `grid_load(b[i])` for a value that all lanes share"},
    {"register", kQualifier},
    {"extern", kQualifier},
    {"__restrict__", kQualifier},
    {"precise", kQualifier},
    {"highp", kQualifier},
    {"layout",
     "the workgroup size is the line `workgroup 64;`, and a buffer is `in x : f32[] @binding(0);`"},
    {"buffer", "write `inout x : f32[];`"},
    {"global", "write `inout x : f32[];`"},
    {"__global", "write `inout x : f32[];`"},
    {"RWStructuredBuffer", "write `inout x : f32[];`"},
    {"StructuredBuffer", "write `in x : f32[];`"},
    {"cbuffer", "write `uniform x : f32[1];`"},
    {"__global__", kOneProgram},
    {"kernel", kOneProgram},
    {"__kernel", kOneProgram},
    {"numthreads", "write `workgroup 64;`"},
    {"parallel_for", kOneProgram},
});

constexpr std::array kOperators = std::to_array<Row>({
    {"and", "write `&&`"},
    {"or", "write `||`"},
    {"not", "write `!`"},
    {"xor", "write `^`"},
    {"mod", "write `%`"},
    {"div", "write `/`"},
    {"is", "write `==`"},
    {"if", "write `select(condition, a, b)`"},
    {"then", "write the block in braces, `if condition { ... }`"},
    {"of", "write `in`"},
});

std::string_view find(std::span<const Row> rows, std::string_view word) {
  const auto row = std::ranges::find(rows, word, &Row::word);
  return row == rows.end() ? std::string_view() : row->advice;
}

bool are_adjacent(const Token& a, const Token& b) {
  return a.line == b.line && a.column + a.length == b.column;
}

// Two tokens that are one operator in another language, glued together.
std::string_view pair_of_habit(const Token& first, const Token& second) {
  if (!are_adjacent(first, second)) return {};
  using Kind = TokenKind;
  const auto is = [&](Kind a, Kind b) { return first.kind == a && second.kind == b; };
  if (is(Kind::Plus, Kind::Plus)) return "write `x += 1;` as a statement of its own";
  if (is(Kind::Minus, Kind::Minus)) return "write `x -= 1;` as a statement of its own";
  if (is(Kind::Star, Kind::Star)) return "write `pow(x, y)`, or `x * x`";
  if (is(Kind::EqEq, Kind::Assign)) return "write `==`";
  if (is(Kind::NotEq, Kind::Assign)) return "write `!=`";
  if (is(Kind::Less, Kind::Greater)) return "write `!=`";
  if (is(Kind::Colon, Kind::Assign)) return "write `let x = ...;`, or `x = ...;` for a `var`";
  if (is(Kind::Less, Kind::Minus)) return "assign with `=`";
  if (is(Kind::Colon, Kind::Colon)) return "built-in functions have no prefix: write `min(a, b)`";
  if (is(Kind::DotDot, Kind::Assign))
    return "a range ends before its last value: write `0 .. n + 1`";
  if (is(Kind::DotDot, Kind::Less)) return "a range ends before its last value: write `0 .. n`";
  if (is(Kind::DotDot, Kind::Dot)) return "a range ends before its last value: write `0 .. n + 1`";
  if (is(Kind::Assign, Kind::Greater)) return "there are no lambdas; write a function, `fn`";
  if (is(Kind::Assign, Kind::Plus)) return "write `+=`";
  return {};
}

}  // namespace

std::string_view habit_of_name(std::string_view name) {
  if (const auto advice = find(kNames, name); !advice.empty()) return advice;
  if (!find(kTypes, name).empty()) return kCast;
  if (const auto advice = find(kOperators, name); !advice.empty()) return advice;
  return find(kStatements, name);
}

std::span<const std::string_view> idiom_of_habit(std::string_view name) {
  static constexpr std::array<std::string_view, 3> kCuda = {"threadIdx", "blockIdx", "blockDim"};
  return std::ranges::find(kCuda, name) == kCuda.end() ? std::span<const std::string_view>()
                                                       : kCuda;
}

std::string_view type_of_habit(std::string_view name) {
  return find(kTypes, name);
}

bool declares_in_habit(std::string_view word) {
  return !find(kTypes, word).empty() || find(kStatements, word) == kDeclare;
}

std::string_view statement_of_habit(std::string_view word) {
  return find(kStatements, word);
}

std::string_view operator_of_habit(std::string_view word) {
  return find(kOperators, word);
}

std::string_view syntax_of_habit(const Token& before, const Token& token, const Token& after) {
  if (const auto advice = pair_of_habit(before, token); !advice.empty()) return advice;
  if (const auto advice = pair_of_habit(token, after); !advice.empty()) return advice;
  switch (token.kind) {
    case TokenKind::Name: return token.own_line ? std::string_view() : find(kOperators, token.text);
    case TokenKind::And:
      return "there are no pointers; name the element itself, as in `atomic_add(b[i], 1)`";
    case TokenKind::Star: return "there are no pointers; write an element, `b[i]`";
    case TokenKind::Arrow:
      return "there are no pointers and no fields; use a buffer for each field";
    case TokenKind::Dot:
      return before.kind == TokenKind::Name || before.kind == TokenKind::RBracket ||
                     before.kind == TokenKind::RParen
                 ? "values have no fields; use a value or a buffer for each"
                 : std::string_view();
    case TokenKind::LBracket:
      return before.kind == TokenKind::RBracket
                 ? "buffers have one axis: write `a[row * width + column]`"
                 : std::string_view();
    case TokenKind::LBrace:
      return before.kind == TokenKind::Assign ? "a table is `const t : f32[] = {1.0, 2.0};`, a "
                                                "private array `var a : f32[2] = {1.0, "
                                                "2.0};`"
                                              : std::string_view();
    case TokenKind::String: return "there are no strings; a message stands in `require` only";
    case TokenKind::Plus: return "leave out the sign";
    case TokenKind::At:
      return "the workgroup size is the line `workgroup 64;`, and a binding stands behind its "
             "buffer, `in x : f32[] @binding(0);`";
    case TokenKind::Assign: return "assign in a statement of its own, and compare with `==`";
    default: return {};
  }
}

std::string_view character_of_habit(char character) {
  switch (character) {
    case '?': return "write `select(condition, a, b)`, which evaluates both values";
    case '#':
      return "comments begin with `//`; for a macro write `const Name : u32 = 1;` or a function";
    case '\'': return "there are no characters; write their number, as in `97`";
    default: return {};
  }
}

std::string_view suffix_of_habit(std::string_view suffix, bool decimal) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, suffix) != words.end();
  };
  if (is_one_of({"f", "F"})) return "f32";
  if (is_one_of({"lf", "LF"})) return "f64";
  if (decimal) return {};
  if (is_one_of({"u", "U"})) return "u32";
  if (is_one_of({"i"})) return "i32";
  if (is_one_of({"l", "L", "ll", "LL"})) return "i64";
  if (is_one_of({"ul", "UL", "ull", "ULL", "lu", "LU"})) return "u64";
  return {};
}

}  // namespace vyre::text
