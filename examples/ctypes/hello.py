# SPDX-License-Identifier: Apache-2.0
"""Vyre from Python with nothing but ctypes: python3 examples/ctypes/hello.py

libvyre_c.so.1 is taken from where libraries are, or from VYRE_C_LIBRARY."""
# Prints:
#   [6.0, 9.0, 12.0, 15.0]
#   error 1006: hello.vyre:1:1: error[V001]: expected `program`, found `hello`
import ctypes as c
import os

TEXT = b"""program saxpy {
  workgroup 64;
  over len(y);
  in    x : f32[];
  inout y : f32[];
  require len(x) == len(y), "both need one length";
  let i = gid.x;
  if i < len(y) { y[i] = 2.0 * x[i] + y[i]; }
}
"""

lib = c.CDLL(os.environ.get("VYRE_C_LIBRARY", "libvyre_c.so.1"))


class Arg(c.Structure):
    _fields_ = [("data", c.c_void_p), ("size", c.c_uint64), ("buffer", c.c_void_p), ("written", c.c_uint64)]


def declare(name, result, *arguments):
    function = getattr(lib, name)
    function.restype, function.argtypes = result, arguments
    return function


error_code = declare("vyre_error_code", c.c_uint32, c.c_void_p)
error_text = declare("vyre_error_text", c.c_char_p, c.c_void_p)
error_release = declare("vyre_error_release", None, c.c_void_p)
device_open = declare("vyre_device_open", c.c_void_p, c.c_char_p, c.c_void_p, c.POINTER(c.c_void_p))
device_release = declare("vyre_device_release", None, c.c_void_p)
compile_text = declare("vyre_compile_text", c.c_void_p, c.c_void_p, c.c_char_p, c.c_size_t, c.c_char_p,
                       c.c_void_p, c.POINTER(c.c_void_p))
pipeline_release = declare("vyre_pipeline_release", None, c.c_void_p)
dispatch = declare("vyre_dispatch", c.c_void_p, c.c_void_p, c.POINTER(Arg), c.c_size_t, c.POINTER(Arg),
                   c.c_size_t, c.c_void_p, c.c_void_p)


class VyreError(Exception):
    pass


def check(error):
    if error:
        code, text = error_code(error), error_text(error).decode()
        error_release(error)
        raise VyreError(f"error {code}: {text.splitlines()[0]}")


def arg(array):
    return Arg(c.addressof(array), c.sizeof(array), None, 0)


device, pipeline, none = c.c_void_p(), c.c_void_p(), c.c_void_p()
check(device_open(b"cpu", None, device))
check(compile_text(device, TEXT, len(TEXT), b"saxpy.vyre", None, pipeline))
x, y = (c.c_float * 4)(1, 2, 3, 4), (c.c_float * 4)(4, 5, 6, 7)
check(dispatch(pipeline, (Arg * 2)(arg(x), arg(y)), 2, (Arg * 1)(arg(y)), 1, None, None))
print(list(y))

try:
    check(compile_text(device, b"hello", 5, b"hello.vyre", None, none))
except VyreError as e:
    print(e)

pipeline_release(pipeline)
device_release(device)
