//! Compiles `proto/` with protox, so that building needs no `protoc`.

use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new("proto");
    println!("cargo:rerun-if-changed=proto");
    println!("cargo:rerun-if-changed=migrations");

    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join("handoff/v1"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "proto")
    });
    files.sort();

    let descriptors = protox::compile(&files, [root])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(
        out.join("handoff_descriptor.bin"),
        prost::Message::encode_to_vec(&descriptors),
    )?;
    let mut config = prost_build::Config::new();
    // A type finds its descriptor by its name.
    config.enable_type_names();
    tonic_prost_build::configure()
        // Tells a message that cannot be read to its sender, as any other malformed request.
        .codec_path("crate::grpc::codec::Codec")
        .compile_fds_with_config(descriptors, config)?;
    Ok(())
}
