//! What the linker needs to know to make a module of Node.js.

fn main() {
    napi_build::setup();
}
