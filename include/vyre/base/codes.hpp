// SPDX-License-Identifier: Apache-2.0
// The table of diagnostics: one row per rule of the language. A code is stable: it is never reused
// or renumbered. Each row has a page docs/explain/<code>.md and a planted error under
// test/golden/errors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace vyre {

enum class Severity : uint8_t { Error, Warning };

// clang-format off
#define VYRE_DIAGNOSTIC_CODES(X)                                                                      \
  /* the text: letters, numbers, grammar */                                                           \
  X(1,  Error,   UnexpectedToken,        "the text does not follow the grammar")                      \
  X(2,  Error,   BadCharacter,           "a character that has no place in a program")                \
  X(3,  Error,   BadNumber,              "a number that is not written as the grammar says")          \
  X(4,  Error,   BadString,              "a string that is not closed or has an unknown escape")      \
  X(5,  Error,   UnclosedBlock,          "a block or bracket that is never closed")                   \
  X(6,  Error,   TextTooLong,            "a program text over 16 MiB")                                \
  X(7,  Error,   NestingTooDeep,         "blocks nested more than 64 deep")                           \
  X(8,  Error,   ExpressionTooDeep,      "an expression more than 128 nodes deep")                    \
  X(9,  Error,   NameTooLong,            "a name over 255 bytes")                                     \
  X(10, Error,   ChainedComparison,      "comparisons in a chain")                                    \
  X(11, Error,   BadTag,                 "a tag that is not a literal from 0 to 65535")               \
  X(12, Error,   WorkgroupHeader,        "the workgroup size is missing, repeated or not usable")     \
  X(13, Error,   OverHeader,             "the over clause is repeated or has the wrong axes")          \
  X(14, Error,   BadAttribute,           "an attribute that is unknown, repeated or out of place")    \
  X(15, Error,   RegionRule,             "top-level statements that are not wrapped in a region")     \
  /* names */                                                                                         \
  X(20, Error,   UnknownName,            "a name that is not declared")                               \
  X(21, Error,   DuplicateName,          "a name that is already taken where it is declared")         \
  X(22, Error,   ReservedName,           "a keyword or built-in name used as a name")                 \
  X(23, Error,   WrongKindOfName,        "a name used as something that it is not")                   \
  X(24, Error,   WrongArgumentCount,     "too many or too few arguments")                             \
  X(25, Error,   Recursion,              "a function that calls itself")                              \
  X(26, Error,   BufferNotPassed,        "a buffer or local that a function does not see")            \
  X(27, Error,   InvalidName,            "a name that cannot be written in the text form")            \
  /* types */                                                                                         \
  X(30, Error,   TypeMismatch,           "two types that should be the same")                         \
  X(31, Error,   WrongOperandType,       "an operation that is not defined for this type")            \
  X(32, Error,   LiteralDoesNotFit,      "a literal that its type cannot hold")                       \
  X(33, Error,   ConditionNotBool,       "a condition that is not bool")                              \
  X(34, Error,   StorageTypeAsValue,     "a storage type outside a buffer declaration")               \
  X(35, Error,   DivisionByLiteralZero,  "a division by the literal zero")                            \
  X(36, Error,   IndexNotInteger,        "an index or count that is not an integer")                  \
  X(37, Error,   BadBitcast,             "a bitcast between widths that differ")                      \
  X(38, Error,   MathNeedsF32,           "a transcendental function of f64")                          \
  X(39, Error,   NotConstant,            "an expression that is not constant")                        \
  X(40, Error,   BadArrayValues,         "a private array with more values than elements")            \
  X(41, Error,   BadCount,               "an element count outside its limits")                       \
  X(42, Error,   MissingReturn,          "a path through a function that returns no value")           \
  X(43, Error,   BadReturn,              "a return that does not fit where it stands")                \
  X(44, Error,   NoEffect,               "a statement without effect, or a value that is none")       \
  X(45, Error,   AssignToImmutable,      "an assignment to something that cannot change")             \
  X(46, Error,   BarrierInExpression,    "a barrier in the middle of an expression")                  \
  X(47, Error,   LoopControl,            "a break or continue without a loop to act on")              \
  X(48, Error,   BadLoopStep,            "a step that is 0 or negative")                              \
  /* buffers and host expressions */                                                                  \
  X(50, Error,   AccessNotAllowed,       "an access that the kind of the buffer forbids")             \
  X(51, Error,   AtomicNotAllowed,       "an atomic operation on the wrong kind or type of memory")   \
  X(52, Error,   BadMemoryOrder,         "a memory order that the operation cannot have")             \
  X(53, Error,   OutputSizeUnknown,      "an output whose size nobody gives")                         \
  X(54, Error,   BindingTaken,           "two buffers with one binding number")                       \
  X(55, Error,   BadAlignment,           "an alignment that is not 0 or a power of two")              \
  X(56, Error,   BadRange,               "a byte range that does not fit the elements")               \
  X(57, Error,   NotAHostExpression,     "a host expression that needs the device")                   \
  X(58, Error,   CountUsedTooEarly,      "a length that is not known yet at this point")              \
  X(59, Error,   BadFixpointList,        "a fixpoint over a buffer that cannot be watched")           \
  X(60, Error,   TooManyBindings,        "more than 64 bindings")                                     \
  X(61, Error,   TooManyStatements,      "more than 100,000 statements after inlining")               \
  X(62, Error,   BadFixpointMax,         "a fixpoint of at most 0 passes")                            \
  X(63, Error,   BadCollective,          "a collective whose buffers or operation do not fit")        \
  X(64, Error,   BadAsyncCopy,           "an asynchronous copy whose buffers do not fit")             \
  X(65, Error,   BadSwap,                "a swap of buffers that cannot be exchanged")                \
  X(66, Error,   BadScalar,              "a scalar that is no uniform, or is used as a buffer")       \
  X(67, Error,   BadShape,               "axes, indices or parameters whose numbers do not fit")       \
  /* uniformity */                                                                                    \
  X(70, Error,   BarrierNotUniform,      "a barrier that not all lanes of its scope reach together")  \
  X(71, Error,   FlowNotUniform,         "a statement that needs uniform control flow")               \
  X(72, Error,   SubgroupNotUniform,     "a subgroup operation in divergent flow")                    \
  X(73, Error,   ValueNotUniform,        "a value that must be uniform")                              \
  /* traps and asynchronous copies */                                                                 \
  X(80, Error,   ResumePlace,            "a resume that does not enclose the traps of its tag")       \
  X(81, Error,   ResumeRepeated,         "two resumes of one tag")                                    \
  X(82, Error,   LostAtResume,           "a local that lanes waiting at a resume never had")          \
  X(83, Error,   JumpOverResume,         "a break or continue that jumps over a resume")              \
  X(84, Error,   CopyWithoutWait,        "an asynchronous copy and its wait that do not pair up")     \
  X(85, Error,   BetweenCopyAndWait,     "a statement that may not stand between copy and wait")      \
  /* bytes and the C++ builder */                                                                     \
  X(86, Error,   NotAProgramFile,        "bytes that are not a Vyre program of this version")         \
  X(87, Error,   MalformedBytes,         "bytes that are cut off, altered or not canonical")          \
  X(88, Error,   BuilderMisuse,          "a builder call that cannot become a program")               \
  X(89, Error,   BadPrint,               "a print or assert whose format and arguments do not fit")   \
  /* warnings */                                                                                      \
  X(90, Warning, Unused,                 "something declared that nothing uses")                      \
  X(91, Warning, Unreachable,            "a statement that no lane can reach")                        \
  X(92, Warning, MayNeverEnd,            "a loop that waits for another lane without a barrier")      \
  X(93, Warning, GridMissesInput,        "a grid that does not grow with the input it reads")         \
  /* modules, generics and structs */                                                                 \
  X(100, Error,  ModuleNotFound,         "a module that cannot be read")                              \
  X(101, Error,  ModuleOutside,          "a module outside the folder of the main file")              \
  X(102, Error,  ModuleCycle,            "modules that use each other in a circle")                   \
  X(103, Error,  BadModule,              "a module file with something else in it")                   \
  X(104, Error,  UnknownMember,          "a name that a module does not have")                        \
  X(105, Error,  BadStaticArgument,      "static arguments that do not fit the parameters")           \
  X(106, Error,  CannotDeduce,           "a static argument that nothing decides")                    \
  X(107, Error,  TypeOutsideClass,       "a type outside the class of its parameter")                 \
  X(108, Error,  BadFunctionArgument,    "a function parameter that gets something else")             \
  X(109, Error,  BadLambda,              "a lambda with an effect, or that reads what may change")    \
  X(110, Error,  ExpansionTooDeep,       "functions expanded more than 64 deep")                      \
  X(111, Error,  TooManyInstances,       "more than 1,000 instances of functions")                    \
  X(112, Error,  NotStatic,              "a value that is not known while the text is expanded")      \
  X(113, Error,  NoStaticValue,          "a static function that has no value here")                  \
  X(114, Error,  BadStruct,              "a struct that is not made of 1 to 16 scalars")              \
  X(115, Error,  UnknownField,           "a field that a struct does not have")                       \
  X(116, Error,  BadStructUse,           "a struct where a scalar belongs, or the other way round")   \
  X(117, Error,  NotInPlace,             "a call expanded in place where no statement can stand")     \
  X(118, Error,  BadTune,                "a tune constant that is out of place")                      \
  X(119, Error,  BadSetting,             "a setting that does not fit the program")
// clang-format on

enum class Code : uint16_t {
#define VYRE_ROW(number, severity, name, title) name = number,
  VYRE_DIAGNOSTIC_CODES(VYRE_ROW)
#undef VYRE_ROW
};

struct CodeInfo {
  Code code;
  Severity severity;
  std::string_view name;   // "BarrierNotUniform"
  std::string_view title;  // one line for lists and SARIF rules
};

std::span<const CodeInfo> all_codes();
const CodeInfo& info_of(Code code);

// "V070"
std::string_view text_of(Code code);
// Accepts "V070", "v070", "V70", "70" and the row's name in any case.
std::optional<Code> code_from_text(std::string_view text);

}  // namespace vyre
