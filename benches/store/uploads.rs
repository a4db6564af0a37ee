//! Objects are written: PUT, and uploads in parts. What is not yet an object lies in `.uploads` in the store's folder.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::http::{Reply, Request};
use super::options::Options;
use super::{Store, list, objects};

pub const FOLDER: &str = ".uploads";

impl Store {
    pub fn write(&self, request: &Request, body: &mut impl Read, options: &Options) -> io::Result<Reply> {
        let (_, key) = list::bucket_and_key(&request.path);
        let Some(target) = self.file(&request.path).filter(|_| !key.is_empty()) else {
            return Ok(Reply::error(400, "InvalidObjectName"));
        };
        if !self.has_bucket(&request.path) {
            return Ok(Reply::error(404, "NoSuchBucket"));
        }
        let upload = request.query("uploadId").map(|id| self.folder.join(FOLDER).join(id.replace('/', "")));
        if upload.as_ref().is_some_and(|upload| !upload.is_dir()) {
            return Ok(Reply::error(404, "NoSuchUpload"));
        }
        match (request.method.as_str(), upload) {
            ("PUT", None) => {
                let (file, _) = self.receive(request, body)?;
                publish(&file, &target, request, options)
            }
            ("PUT", Some(upload)) => {
                let number: u32 = request.query("partNumber").and_then(|text| text.parse().ok()).unwrap_or(0);
                let (file, tag) = self.receive(request, body)?;
                match fs::rename(&file, upload.join(number.to_string())) {
                    Ok(()) => Ok(Reply::text(200, String::new()).with("ETag", tag)),
                    // It was aborted meanwhile.
                    Err(_) => fs::remove_file(file).map(|()| Reply::error(404, "NoSuchUpload")),
                }
            }
            ("POST", None) => self.initiate(request),
            ("POST", Some(upload)) => self.complete(&upload, &target, request, body, options),
            ("DELETE", None) => {
                let _ = fs::remove_file(target);
                Ok(Reply::text(204, String::new()))
            }
            (_, Some(upload)) => {
                fs::remove_dir_all(upload)?;
                Ok(Reply::text(204, String::new()))
            }
            _ => Ok(Reply::error(405, "MethodNotAllowed")),
        }
    }

    /// A name that nothing else has.
    fn new_path(&self) -> io::Result<PathBuf> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(self.folder.join(FOLDER))?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Ok(self.folder.join(FOLDER).join(format!("{}-{number}", std::process::id())))
    }

    /// A body as a file, and its entity tag.
    fn receive(&self, request: &Request, body: &mut impl Read) -> io::Result<(PathBuf, String)> {
        let path = self.new_path()?;
        let received = fill(&mut File::create(&path)?, request.len(), body);
        match received {
            Ok(tag) => Ok((path, tag)),
            Err(cause) => fs::remove_file(path).and(Err(cause)),
        }
    }

    fn initiate(&self, request: &Request) -> io::Result<Reply> {
        if request.query("uploads").is_none() {
            return Ok(Reply::error(400, "InvalidRequest"));
        }
        let path = self.new_path()?;
        fs::create_dir(&path)?;
        let id = path.file_name().unwrap_or_default().display();
        let xml = format!(
            "<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"
        );
        Ok(Reply::text(200, xml))
    }

    fn complete(
        &self,
        upload: &Path,
        target: &Path,
        request: &Request,
        body: &mut impl Read,
        options: &Options,
    ) -> io::Result<Reply> {
        let mut xml = String::new();
        body.read_to_string(&mut xml)?;
        let whole = self.new_path()?;
        let mut file = File::create(&whole)?;
        for part in xml.split("<PartNumber>").skip(1) {
            let number = part.split('<').next().unwrap_or_default();
            match File::open(upload.join(number)) {
                Ok(mut part) => io::copy(&mut part, &mut file)?,
                Err(_) => return Ok(Reply::error(400, "InvalidPart")),
            };
        }
        let reply = publish(&whole, target, request, options)?;
        if reply.status != 200 {
            return Ok(reply);
        }
        fs::remove_dir_all(upload)?;
        let tag = objects::tag(&target.metadata()?);
        let xml =
            format!("<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>");
        Ok(Reply::text(200, xml))
    }
}

/// Copies a body of `len` bytes; returns its entity tag.
fn fill(file: &mut File, len: u64, body: &mut impl Read) -> io::Result<String> {
    let (mut hasher, mut buffer, mut left) = (DefaultHasher::new(), vec![0; 1 << 20], len);
    while left > 0 {
        let count = body.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        hasher.write(&buffer[..count]);
        file.write_all(&buffer[..count])?;
        left -= count as u64;
    }
    Ok(format!("\"{:x}\"", hasher.finish()))
}

/// Gives a file that is written the name of its object, if the request's conditions permit that.
fn publish(file: &Path, target: &Path, request: &Request, options: &Options) -> io::Result<Reply> {
    fs::create_dir_all(target.parent().unwrap_or(target))?;
    let is_new = request.header("if-none-match").is_some()
        || request.header("x-goog-if-generation-match") == Some("0");
    if is_new && !options.has_no_conditions {
        // Fails if there is one, also if two are written at once.
        let linked = fs::hard_link(file, target);
        fs::remove_file(file)?;
        if linked.is_err() {
            return Ok(Reply::error(412, "PreconditionFailed"));
        }
    } else {
        fs::rename(file, target)?;
    }
    let metadata = target.metadata()?;
    let reply = Reply::text(200, String::new()).with("ETag", objects::tag(&metadata));
    Ok(reply.with("x-goog-generation", objects::generation(&metadata)))
}
