//! Recognizes files of formats that we do not read by their magic numbers, so that messages can name a program that
//! does.

use std::path::Path;

use crate::Error;

/// Offset, magic bytes, what has them there, and what to do with such a file.
type Signature = (usize, &'static [u8], &'static str, &'static str);

/// The first match wins.
const SIGNATURES: &[Signature] = &[
    (0, b"MATLAB 7.3", "a MATLAB v7.3 file (HDF5)", "use h5py, or mat73"),
    (0, HDF5, "an HDF5 file", "use h5py or h5dump"),
    (512, HDF5, "an HDF5 file", "use h5py or h5dump"),
    (1024, HDF5, "an HDF5 file", "use h5py or h5dump"),
    (2048, HDF5, "an HDF5 file", "use h5py or h5dump"),
    (0, b"\x0e\x03\x13\x01", "an HDF4 file", "use pyhdf or hdp"),
    (0, b"CDF\x01", NETCDF, USE_NETCDF),
    (0, b"CDF\x02", NETCDF, USE_NETCDF),
    (0, b"CDF\x05", NETCDF, USE_NETCDF),
    (0, b"GRIB", "a GRIB file", "use cfgrib or eccodes"),
    (0, b"MATLAB 5.0", "a MATLAB v5 file", "use scipy.io.loadmat"),
    (0, b"SIMPLE  =", "a FITS file", "use astropy.io.fits"),
    (0, b"root\0", "a ROOT file", "use uproot or ROOT"),
    (0, b"GGUF", "a GGUF model", "use gguf (gguf-dump) or llama.cpp"),
    (0, b"PAR1", "a Parquet file", "use pyarrow, polars or duckdb"),
    (0, b"PARE", "an encrypted Parquet file", "use pyarrow"),
    (0, b"FEA1", "a Feather v1 file", "use pyarrow.feather"),
    (0, b"ORC", "an ORC file", "use pyarrow.orc"),
    (0, b"Obj\x01", "an Avro file", "use fastavro"),
    (0, b"SQLite format 3\0", "an SQLite database", "use sqlite3"),
    (0, b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "a PyTorch file (legacy)", "use torch.load"),
    (0, b"\x80\x02}", PICKLE, UNPICKLE),
    (0, b"\x80\x02]", PICKLE, UNPICKLE),
    (0, b"\x80\x02c", PICKLE, UNPICKLE),
    (0, b"\x80\x03}", PICKLE, UNPICKLE),
    (0, b"\x80\x03]", PICKLE, UNPICKLE),
    (0, b"\x80\x03c", PICKLE, UNPICKLE),
    (0, b"\x80\x04\x95", PICKLE, UNPICKLE),
    (0, b"\x80\x05\x95", PICKLE, UNPICKLE),
    (0, b"II*\0", "a TIFF image", "use tifffile"),
    (0, b"MM\0*", "a TIFF image", "use tifffile"),
    (0, b"II+\0", "a BigTIFF image", "use tifffile"),
    (0, b"MM\0+", "a BigTIFF image", "use tifffile"),
    (0, b"\x89PNG", "a PNG image", "use Pillow"),
    (0, b"\xff\xd8\xff", "a JPEG image", "use Pillow"),
    (0, b"NRRD000", "an NRRD image", "use pynrrd"),
    (344, b"n+1\0", "a NIfTI image", "use nibabel"),
    (128, b"DICM", "a DICOM file", "use pydicom"),
    (0, b"0       ", "an EDF recording", "use pyedflib or MNE"),
    (0, b"\xffBIOSEMI", "a BDF recording", "use pyedflib or MNE"),
    (0, b"\x1f\x8b", "a gzip file", "decompress it with gunzip"),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard file", "decompress it with unzstd"),
    (0, b"BZh", "a bzip2 file", "decompress it with bunzip2"),
    (0, b"\xfd7zXZ\0", "an xz file", "decompress it with unxz"),
    (0, b"\x04\x22\x4d\x18", "an LZ4 file", "decompress it with unlz4"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", "extract it with 7z x"),
    (0, b"Rar!\x1a\x07", "a RAR archive", "extract it with unrar x"),
    (257, b"ustar", "a tar archive", "extract it with tar -xf, or mount it with ratarmount"),
    (0, b"%PDF", "a PDF document", "use a PDF viewer"),
    (0, b"\x7fELF", "a program", "name a data file"),
    (0, b"#!", "a script", "name a data file"),
];

/// Files that can be read after all, with an option or a preparatory step.
const OTHERWISE: &[Signature] = &[
    (0, b"PK\x05\x06", "an empty ZIP file", "--format zip opens it"),
    (0, b"PK\x03\x04", "a ZIP file", "--format zip shows its members as files"),
    (0, b"version https://git-lfs", "a pointer of Git LFS", "fetch the file itself with git lfs pull"),
];

const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";
const NETCDF: &str = "a NetCDF classic file";
const USE_NETCDF: &str = "use netCDF4, xarray or ncdump";
const PICKLE: &str = "a Python pickle";
const UNPICKLE: &str = "use pickle.load, if you trust its author (it runs code)";

/// The error for a file that begins with `head` and is not of a known format.
pub fn not_a_container(path: &Path, head: &[u8]) -> Error {
    let is_here = |(at, bytes, ..): &&Signature| head.get(*at..).is_some_and(|rest| rest.starts_with(bytes));
    let found = match (SIGNATURES.iter().find(is_here), OTHERWISE.iter().find(is_here)) {
        (Some((.., what, advice)), _) => not_read(what, advice),
        (None, Some((.., what, advice))) => format!("is {what}: {advice}"),
        (None, None) => format!("not a container of a known format: {}", unknown(head)),
    };
    Error::NotAContainer { file: path.to_owned(), found }
}

/// The error for a directory that is a store of another program (Zarr); None for other directories.
pub fn store(directory: &Path) -> Option<Error> {
    let is_store = |name: &&&str| directory.join(name).is_file();
    [".zarray", ".zgroup", ".zmetadata", "zarr.json"].iter().find(is_store)?;
    let found = not_read("a Zarr store", "use zarr or xarray");
    Some(Error::NotAContainer { file: directory.to_owned(), found })
}

fn not_read(what: &str, advice: &str) -> String {
    format!("is {what}, which rab-mount does not read: {advice}")
}

fn unknown(head: &[u8]) -> String {
    let known = super::known();
    if head.is_empty() {
        return format!("it is empty (the known formats are {known})");
    }
    let shown = &head[..head.len().min(8)];
    let start = &head[..head.len().min(16)];
    let like = match start {
        zeros if zeros.iter().all(|byte| *byte == 0) => ", like a file of zeros",
        text if text.iter().all(|byte| matches!(byte, 9..=13 | 32..=126)) => ", like a text file",
        _ => "",
    };
    let hex = shown.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    format!("it begins with {hex} (\"{}\"){like} (the known formats are {known})", shown.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(head: &[u8]) -> String {
        not_a_container(Path::new("x"), head).to_string()
    }

    #[test]
    fn known_signatures_are_named_with_what_reads_them() {
        assert_eq!(
            message(b"\x89HDF\r\n\x1a\n\0\0\0\0"),
            "x: is an HDF5 file, which rab-mount does not read: use h5py or h5dump"
        );
        let tar = [&[0; 257][..], b"ustar\0"].concat();
        assert!(message(&tar).contains("is a tar archive"));
        for (at, bytes, what, advice) in SIGNATURES.iter().chain(OTHERWISE) {
            let message = message(&[&vec![b'x'; *at], *bytes, &[1; 9]].concat());
            assert!(message.contains(what) && message.contains(advice), "{message}");
        }
    }

    #[test]
    fn other_files_are_described() {
        assert!(message(b"").contains("it is empty"));
        assert!(message(b"hello world").contains("like a text file"));
        assert!(message(&[0xfe, 0xed, 0xfa, 0xce]).contains("fe ed fa ce"));
    }
}
