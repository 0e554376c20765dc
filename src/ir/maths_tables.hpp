// SPDX-License-Identifier: Apache-2.0
// Polynomials and constants of the functions that are written once for both widths
// (maths_format.hpp), made by tools/maths_coefficients.py.
#pragma once

#include <array>
#include <cstdint>

namespace vyre::ir::maths {

// Powers of two for arguments below `small` and above `large`, whose squares or cubes leave the
// range or lose digits, and what gives the result its size back.
template <class Real>
struct Scales {
  Real small, up, back_up;
  Real large, down, back_down;
};

struct SingleTables {
  static constexpr float kLog2E = 0x1.715476p0f, kLog2ELow = 0x1.4ae0cp-26f;
  // ln 2 and log10 2 with a first part that is exact times an exponent, and the rest
  static constexpr float kLn2Short = 0x1.62e4p-1f, kLn2Rest = 0x1.7f7d1cp-20f;
  static constexpr float kLg2Short = 0x1.344p-2f, kLg2Rest = 0x1.3509f8p-18f;
  static constexpr float kLog2Ten = 0x1.a934fp1f;
  static constexpr float kLn10 = 0x1.26bb1cp1f, kLn10Low = -0x1.12aabap-25f;
  static constexpr float kLgE = 0x1.bcb7b2p-2f, kLgELow = -0x1.5b235ep-27f;
  static constexpr float kQuarterPi = 0x1.921fb6p-1f, kQuarterPiLow = -0x1.777a5cp-26f;
  static constexpr float kThird = 0x1.555556p-2f;
  static constexpr float kRounder = 0x1.8p23f, kWholes = 0x1p23f;
  static constexpr float kTiny = 0x1p-30f;  // x + x^2 / 2 is x long before
  static constexpr float kExp10Least = -46.0f, kExp10Most = 39.0f;
  static constexpr float kExpm1Least = -20.0f, kExpMost = 89.0f;
  static constexpr float kErfMost = 4.0f;
  static constexpr Scales<float> kHypotLimits = {0x1p-30f, 0x1p90f,  0x1p-90f,
                                                 0x1p60f,  0x1p-70f, 0x1p70f};
  static constexpr Scales<float> kCbrtLimits = {0x1p-70f, 0x1p72f,  0x1p-24f,
                                                0x1p100f, 0x1p-72f, 0x1p24f};
  // e^r = 1 + r + r^2 / 2 + r^3 q(r)
  static constexpr std::array kExp = {0x1.555554p-3f, 0x1.5554eep-5f, 0x1.111304p-7f,
                                      0x1.6d466p-10f, 0x1.9e1454p-13f};
  // log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + z q(z)), s = f / (2 + f), z = s^2
  static constexpr std::array kLog = {0x1.55557ap-1f, 0x1.995edp-2f, 0x1.31e1a8p-2f};
  // atan(t) = t + t z q(z), z = t^2, t <= tan(pi/8)
  static constexpr std::array kAtan = {-0x1.555548p-2f, 0x1.999126p-3f, -0x1.23ae1cp-3f,
                                       0x1.b19052p-4f, -0x1.f04748p-5f};
  // erf(x) = x + x q(x^2) below the first limit, kErfAt + q(x - kErfMiddle) in the pieces from
  // there
  static constexpr std::array<std::array<float, 9>, 4> kErf = {
      {{{0x1.06eba8p-3f, -0x1.812742p-2f, 0x1.ce2db8p-4f, -0x1.b7fd2ep-6f, 0x1.530e6p-8f,
         -0x1.7e225ap-11f, -0x1.e8f756p-15f, 0x1.f5f01ep-14f, -0x1.5132a2p-15f}},
       {{-0x1.a5bb8ap-26f, 0x1.1a0dc6p-2f, -0x1.4ef05ap-2f, 0x1.56485p-3f, 0x1.40fd66p-7f,
         -0x1.c0c458p-5f, 0x1.38585cp-6f, 0x1.ad7342p-8f, -0x1.7ead42p-8f}},
       {{-0x1.83839ep-26f, 0x1.529b9ep-6f, -0x1.529b6ap-5f, 0x1.8b0afp-5f, -0x1.1a32f2p-5f,
         0x1.ace898p-7f, 0x1.0353e4p-11f, -0x1.bbd568p-9f, 0x1.767e24p-10f}},
       {{-0x1.803d18p-27f, 0x1.e87306p-16f, -0x1.8de894p-14f, 0x1.9e6ee6p-13f, -0x1.2c72bp-12f,
         0x1.3ca176p-12f, -0x1.14548ep-12f, 0x1.a1e986p-13f, -0x1.59db92p-14f}}}};
  static constexpr std::array kErfFrom = {0.875f, 1.5f, 2.5f};
  static constexpr std::array kErfMiddle = {1.1875f, 2.0f, 3.25f};
  static constexpr std::array kErfAt = {0x1.d0580cp-1f, 0x1.fd9ae2p-1f, 0x1.ffff7p-1f};
};

struct DoubleTables {
  static constexpr double kLog2E = 0x1.71547652b82fep0, kLog2ELow = 0x1.777d0ffda0d24p-56;
  static constexpr double kLn2 = 0x1.62e42fefa39efp-1, kLn2Low = 0x1.abc9e3b39803fp-56;
  // ln 2 and log10 2 with a first part that is exact times an exponent, and the rest
  static constexpr double kLn2Short = 0x1.62e42fefa4p-1, kLn2Rest = -0x1.8432a1b0e2634p-43;
  static constexpr double kLg2Short = 0x1.34413509f8p-2, kLg2Rest = -0x1.80433b83b532ap-44;
  static constexpr double kLog2Ten = 0x1.a934f0979a371p1;
  static constexpr double kLn10 = 0x1.26bb1bbb55516p1, kLn10Low = -0x1.f48ad494ea3e9p-53;
  static constexpr double kLgE = 0x1.bcb7b1526e50ep-2, kLgELow = 0x1.95355baaafad3p-57;
  static constexpr double kQuarterPi = 0x1.921fb54442d18p-1, kQuarterPiLow = 0x1.1a62633145c07p-55;
  static constexpr double kHalfPi = 0x1.921fb54442d18p0, kHalfPiLow = 0x1.1a62633145c07p-54;
  static constexpr double kHalfPiLowest = -0x1.f1976b7ed8fbcp-110;
  static constexpr double kPi = 0x1.921fb54442d18p1, kPiLow = 0x1.1a62633145c07p-53;
  static constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  static constexpr double kPow1 = 0x1.71547652b82fep1, kPow1Low = 0x1.777d0ffda0d24p-55;
  static constexpr double kPow3 = 0x1.ec709dc3a03fdp-1, kPow3Low = 0x1.d27f05548af0cp-55;
  static constexpr double kPow5 = 0x1.2776c50ef9bfep-1, kPow5Low = 0x1.e4b29ccc535d4p-55;
  static constexpr double kThird = 0x1.5555555555555p-2;
  static constexpr double kRounder = 0x1.8p52, kWholes = 0x1p52;
  static constexpr double kTiny = 0x1p-60;  // x + x^2 / 2 is x long before
  static constexpr double kExpLeast = -746.0, kExpMost = 710.0, kCoshMost = 712.0;
  static constexpr double kExp2Least = -1076.0, kExp2Most = 1025.0;
  static constexpr double kExp10Least = -324.5, kExp10Most = 309.0;
  static constexpr double kExpm1Least = -40.0, kTanhMost = 40.0;
  static constexpr double kErfMost = 6.0;
  static constexpr Scales<double> kHypotLimits = {0x1p-300, 0x1p700,  0x1p-700,
                                                  0x1p500,  0x1p-600, 0x1p600};
  static constexpr Scales<double> kCbrtLimits = {0x1p-900, 0x1p162,  0x1p-54,
                                                 0x1p900,  0x1p-162, 0x1p54};
  // e^r = 1 + r + r^2 / 2 + r^3 q(r)
  static constexpr std::array kExp = {
      0x1.5555555555559p-3,  0x1.555555555554bp-5,  0x1.111111110f60ap-7,  0x1.6c16c16c1baadp-10,
      0x1.a01a01b037438p-13, 0x1.a01a0188f40a5p-16, 0x1.71ddf75fab78cp-19, 0x1.27e51e0fb8afap-22,
      0x1.af60a22874521p-26, 0x1.1f0a1110e8958p-29};
  // log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + z q(z)), s = f / (2 + f), z = s^2
  static constexpr std::array kLog = {
      0x1.5555555555595p-1, 0x1.999999997f26cp-2, 0x1.249249427c47dp-2, 0x1.c71c51a26870dp-3,
      0x1.746652b1500b2p-3, 0x1.399fd376aebe3p-3, 0x1.2f17efa94bb3cp-3};
  // log2(m) = s (c1 + z (c3 + z (c5 + z q(z)))), s and z as above
  static constexpr std::array kPow = {
      0x1.a61762a7ae3dp-2,  0x1.484b13d72d297p-2, 0x1.0c9a8505ff141p-2, 0x1.c68f022aa85adp-3,
      0x1.8a066576bef17p-3, 0x1.59399efe665f3p-3, 0x1.60238d83c40dap-3};
  // atan(t) = t + t z q(z), z = t^2, t <= tan(pi/8)
  static constexpr std::array kAtan = {
      -0x1.5555555555554p-2, 0x1.99999999995bap-3, -0x1.2492492471e28p-3, 0x1.c71c71b5d87b3p-4,
      -0x1.745d148ca0527p-4, 0x1.3b136aa73e288p-4, -0x1.110c43f390d8dp-4, 0x1.e16ebb66ef729p-5,
      -0x1.ab6a1f78596c5p-5, 0x1.70a4169159ddap-5, -0x1.11985de9a2546p-5, 0x1.ef8795c980f96p-7};
  // asin(t) = t + t z q(z), z = t^2, t <= 1/2
  static constexpr std::array kAsin = {
      0x1.5555555555577p-3, 0x1.333333332e1d7p-4, 0x1.6db6db72067c3p-5, 0x1.f1c71a9a612bcp-6,
      0x1.6e8bde357e3ffp-6, 0x1.1c49fd309612cp-6, 0x1.ca1e4bde65f16p-7, 0x1.759020e3f57d1p-7,
      0x1.60fff6c6f49f2p-7, 0x1.e995aa7ea282cp-9, 0x1.627f8e45fcf05p-6, -0x1.5667f5d274d99p-6,
      0x1.0ac783d4e1577p-5};
  // sin(r) = r + r z q(z), z = r^2
  static constexpr std::array kSin = {
      -0x1.5555555555555p-3, 0x1.111111111108ap-7,  -0x1.a01a01a006a6dp-13, 0x1.71de3a3fe300cp-19,
      -0x1.ae643d107cadp-26, 0x1.6114928fc3d89p-33, -0x1.a55994c7db656p-41};
  // cos(r) = 1 - z / 2 + z^2 q(z)
  static constexpr std::array kCos = {0x1.5555555555549p-5,  -0x1.6c16c16c14c3bp-10,
                                      0x1.a01a019c36c91p-16, -0x1.27e4f7b5bab1cp-22,
                                      0x1.1ee9b51f65aa7p-29, -0x1.8f9344179d308p-37};
  // erf(x) = x + x q(x^2) below the first limit, kErfAt + q(x - kErfMiddle) in the pieces from
  // there
  static constexpr std::array<std::array<double, 18>, 6> kErf = {
      {{{0x1.06eba8214db69p-3, -0x1.812746b037a22p-2, 0x1.ce2f21a047531p-4, -0x1.b82ce31533a02p-6,
         0x1.565bcdf1d6be2p-8, -0x1.c02e147a04044p-11, 0x1.f9bf0198692e6p-14, -0x1.fa895dfeb373p-17,
         0x1.4ab03a36d37d6p-19, -0x1.9e25cd7e4eaefp-19, 0x1.07e1dd974eca7p-17,
         -0x1.0a7c651b3b54ep-16, 0x1.93aaf89b1d3d9p-16, -0x1.c293a9fe37a7p-16,
         0x1.677214a7d41c1p-16, -0x1.83aa0cdcb0394p-17, 0x1.fa4bcdd36cfd8p-19,
         -0x1.2e47a24720a8fp-21}},
       {{-0x1.a605b6d581bf6p-26, 0x1.1a0dc51a9934dp-2, -0x1.4ef05a0f95eebp-2, 0x1.5648b5dc47384p-3,
         0x1.40fbaba444ba9p-7, -0x1.c0db89d094011p-5, 0x1.388c3ec062627p-6, 0x1.aecb74485c15bp-8,
         -0x1.8bca533a25af6p-8, 0x1.4add7e5df4fcdp-12, 0x1.05ce4d92917f4p-10,
         -0x1.1842ab8f4e809p-12, -0x1.9cd428c504266p-14, 0x1.d4276d6573a1bp-15,
         0x1.dcfc696651389p-19, -0x1.131f41d628486p-17, 0x1.45c2adcaf9175p-21,
         0x1.4521cb5f7c601p-19}},
       {{0x1.de99ed48b006dp-26, 0x1.12ceb37ff9bc3p-5, -0x1.01a1c847fa208p-4, 0x1.143d1c6f4f0c2p-4,
         -0x1.5a316520b8063p-5, 0x1.779b1e56fd08dp-7, 0x1.0d099c7af4603p-8, -0x1.42fcbaa639265p-8,
         0x1.76ff57fbc9099p-10, 0x1.7bda768f04e9dp-12, -0x1.991c2b8904334p-12,
         0x1.353f7773009adp-14, 0x1.2ea0f8017475fp-15, -0x1.5d179b001a6f7p-16,
         0x1.ae10d71cf1c0cp-21, 0x1.404d10d364469p-19, -0x1.3f6dd44beda47p-21,
         -0x1.33f2eaed4dc09p-23}},
       {{-0x1.3eeb09a65d952p-27, 0x1.3360ccd23db43p-11, -0x1.a6a519a114ceap-10,
         0x1.69cf466ccdd4ap-9, -0x1.ab0c273ac41d6p-9, 0x1.693596066e06bp-9, -0x1.b2755bfce783cp-10,
         0x1.52b6263a75721p-11, -0x1.7557731423be7p-14, -0x1.2abb3a375ed43p-14,
         0x1.cd5933e1bb06cp-15, -0x1.09d104c0d18p-16, -0x1.1f94710722666p-20, 0x1.68cb2b986c568p-19,
         -0x1.eaa4d7eccc0cep-21, 0x1.1dcb8170e67b8p-31, 0x1.c11cb607657bfp-24,
         -0x1.0494282d1546dp-25}},
       {{0x1.78b8f1b0b9525p-28, 0x1.d9371e2ff7d53p-21, -0x1.bba3ac4cf2b3bp-19,
         0x1.0b6a7b0f1a4c5p-17, -0x1.d06f586128a16p-17, 0x1.3436bc9fe9518p-16,
         -0x1.4357b548804f1p-16, 0x1.110de4976d38dp-16, -0x1.7566c0d9253a6p-17,
         0x1.99f5c68d035cap-18, -0x1.5d68ab06dc59cp-19, 0x1.a042aad45ebe6p-21,
         -0x1.837e7733518e5p-24, -0x1.ec55879f25c7ep-25, 0x1.7048663c2129fp-25,
         -0x1.ea4b06bfbfa5cp-27, 0x1.304af3e572c22p-30, 0x1.0774bee8983fbp-30}},
       {{-0x1.dcc52485a304bp-42, 0x1.370ab78efd377p-38, -0x1.8e853144e96a3p-36, 0x1.4decafa2198p-34,
         -0x1.9b3eb4dc0d821p-33, 0x1.8c78d579abfdp-32, -0x1.3734d47dfa1fcp-31,
         0x1.988af30e2b2a3p-31, -0x1.c8f6633edca12p-31, 0x1.b8beb8892cff3p-31,
         -0x1.71c1f6b714d1ep-31, 0x1.112fd3dd640f3p-31, -0x1.660b52dde493dp-32,
         0x1.94c29c8799a2dp-33, -0x1.824d7f1a76872p-34, 0x1.6155d4f5cf415p-35,
         -0x1.412e452ec6b73p-36, 0x1.4f29f99d8284p-38}}}};
  static constexpr std::array kErfFrom = {0.875, 1.5, 2.25, 3.25, 4.25};
  static constexpr std::array kErfMiddle = {1.1875, 1.875, 2.75, 3.75, 5.125};
  static constexpr std::array kErfAt = {0x1.d0580cp-1, 0x1.fbe61ep-1, 0x1.fff2dp-1, 0x1.fffffcp-1,
                                        0x1p0};
};

// 32 zeros, then the fraction of 2/pi, 64 bits each
inline constexpr std::array<uint64_t, 19> kTwoOverPiWide = {
    0x00000000a2f9836e, 0x4e441529fc2757d1, 0xf534ddc0db629599, 0x3c439041fe5163ab,
    0xdebbc561b7246e3a, 0x424dd2e006492eea, 0x09d1921cfe1deb1c, 0xb129a73ee88235f5,
    0x2ebb4484e99c7026, 0xb45f7e413991d639, 0x835339f49c845f8b, 0xbdf9283b1ff897ff,
    0xde05980fef2f118b, 0x5a0a6d1f6d367ecf, 0x27cb09b74f463f66, 0x9e5fea2d7527bac7,
    0xebe5f17b3d0739f7, 0x8a5292ea6bfb5fb1, 0x1f8d5d0856033046};

}  // namespace vyre::ir::maths
