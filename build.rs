//! Compiles the schema of `.model` files into Rust, without a `protoc` program.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(["proto/sentencepiece_model.proto"], ["proto"])?;
    prost_build::compile_fds(descriptors)?;
    Ok(())
}
