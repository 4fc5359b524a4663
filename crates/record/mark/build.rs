//! Names what the shared library exports beside Rust's own functions, and lets it stay once it is
//! loaded.
//!
//! The thread-local symbol is written in assembler, as stable Rust has no such symbols, and rustc
//! exports only what it knows. Its linker on x86-64 (lld) takes a second list of exports.

fn main() {
    println!("cargo:rerun-if-changed=exports.map");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtalea_mark.so");
    // Sites keep pointers into it, and threads that end call it.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    let target = |name: &str| std::env::var(name).unwrap_or_default();
    if target("CARGO_CFG_TARGET_ARCH") == "x86_64" && target("CARGO_CFG_TARGET_OS") == "linux" {
        let folder = target("CARGO_MANIFEST_DIR");
        println!("cargo:rustc-cdylib-link-arg=-Wl,--version-script={folder}/exports.map");
    }
}
