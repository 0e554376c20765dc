// SPDX-License-Identifier: Apache-2.0
// Vyre from Rust, without a crate: rustc --edition 2021 -L <folder of libvyre_c.so> hello.rs
// Prints:
//   [6.0, 9.0, 12.0, 15.0]
//   12 of 16 bytes: InvalidArgument
use std::ffi::{c_char, c_void, CStr};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Arg {
    data: *mut c_void,
    size: u64,
    buffer: *mut c_void,
    written: u64,
}

#[link(name = "vyre_c")]
extern "C" {
    fn vyre_error_code(error: *const c_void) -> u32;
    fn vyre_error_text(error: *const c_void) -> *const c_char;
    fn vyre_error_release(error: *mut c_void);
    fn vyre_device_open(id: *const c_char, options: *const c_void, device: *mut *mut c_void) -> *mut c_void;
    fn vyre_device_release(device: *mut c_void);
    fn vyre_compile_text(
        device: *mut c_void,
        text: *const c_char,
        size: usize,
        file: *const c_char,
        options: *const c_void,
        pipeline: *mut *mut c_void,
    ) -> *mut c_void;
    fn vyre_pipeline_release(pipeline: *mut c_void);
    fn vyre_dispatch(
        pipeline: *mut c_void,
        inputs: *const Arg,
        input_count: usize,
        outputs: *mut Arg,
        output_count: usize,
        options: *const c_void,
        report: *mut *mut c_void,
    ) -> *mut c_void;
}

// An error with its code and text; the library's is released.
fn check(error: *mut c_void) -> Result<(), (u32, String)> {
    if error.is_null() {
        return Ok(());
    }
    unsafe {
        let found = (vyre_error_code(error), CStr::from_ptr(vyre_error_text(error)).to_string_lossy().into_owned());
        vyre_error_release(error);
        Err(found)
    }
}

fn arg<T>(values: &mut [T]) -> Arg {
    Arg { data: values.as_mut_ptr().cast(), size: size_of_val(values) as u64, buffer: null_mut(), written: 0 }
}

const TEXT: &str = "program saxpy { workgroup 64; over len(y); in x : f32[]; inout y : f32[];
  require len(x) == len(y), \"both need one length\";
  if gid.x < len(y) { y[gid.x] = 2.0 * x[gid.x] + y[gid.x]; } }";

fn main() -> Result<(), (u32, String)> {
    let mut x = [1.0f32, 2.0, 3.0, 4.0];
    let mut y = [4.0f32, 5.0, 6.0, 7.0];
    let (mut device, mut pipeline) = (null_mut(), null_mut());
    unsafe {
        check(vyre_device_open(c"cpu".as_ptr(), null(), &mut device))?;
        check(vyre_compile_text(device, TEXT.as_ptr().cast(), TEXT.len(), c"saxpy.vyre".as_ptr(), null(), &mut pipeline))?;
        let inputs = [arg(&mut x), arg(&mut y)];
        let mut outputs = [arg(&mut y)];
        check(vyre_dispatch(pipeline, inputs.as_ptr(), 2, outputs.as_mut_ptr(), 1, null(), null_mut()))?;
        println!("{:?}", y);

        outputs[0].size = 12;
        if let Err((1008, _)) = check(vyre_dispatch(pipeline, inputs.as_ptr(), 2, outputs.as_mut_ptr(), 1, null(), null_mut())) {
            println!("{} of {} bytes: InvalidArgument", outputs[0].size, outputs[0].written);
        }
        vyre_pipeline_release(pipeline);
        vyre_device_release(device);
    }
    Ok(())
}
