//! Generates the types of feature `proto` from the schema in `proto/`, without a `protoc` program.
//!
//! Without that feature there is nothing to generate: the library reads and writes model files with its own code.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto");
    #[cfg(feature = "proto")]
    {
        let descriptors = protox::compile(["proto/sentencepiece_model.proto"], ["proto"])?;
        prost_build::compile_fds(descriptors)?;
    }
    Ok(())
}
