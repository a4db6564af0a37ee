//! A small object store. Files of its folder are served as a web server does: ranges, entity tags, conditions. Each
//! folder in it is also a bucket of S3 (path style) and of Google's XML interface: LIST, conditional PUT, uploads in parts.
//! Nobody has to sign.
//!
//! It answers late, slowly, wrongly or not at all as its [`options`] say, and writes down every request. `/-/counts` gives
//! the number of requests and of bytes sent, `/-/log` a line for each request, `/-/set?NAME=VALUE` sets options.

mod dates;
mod faults;
mod http;
mod list;
mod objects;
mod options;
mod uploads;

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use self::faults::{Fault, Faults};
use self::http::{Body, Reply, Request};
use self::list::Entry;
use self::options::Options;

/// Bytes that are sent at a time, at most: they stay in the processor's cache.
const PIECE: u64 = 256 << 10;
/// Seconds between two pieces if the rate is limited.
const PACE: f64 = 0.003;

/// A running store; dropping it ends it.
pub struct Server {
    pub port: u16,
    store: Arc<Store>,
}

struct Store {
    folder: PathBuf,
    options: Mutex<Options>,
    /// Objects that are no files of that name, by `BUCKET/KEY`.
    made: Mutex<BTreeMap<Vec<u8>, Entry>>,
    faults: Mutex<Faults>,
    log: Mutex<Vec<String>>,
    sent: AtomicU64,
    is_over: AtomicBool,
}

impl Server {
    /// At a free port if that of `address` is 0.
    pub fn start(folder: &Path, address: &str) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        let store = Arc::new(Store {
            folder: folder.to_owned(),
            options: Mutex::default(),
            made: Mutex::default(),
            faults: Mutex::default(),
            log: Mutex::default(),
            sent: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        let server = Server { port: listener.local_addr()?.port(), store: store.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let store = store.clone();
                if store.is_over.load(Ordering::Relaxed) {
                    break;
                }
                // A client that goes away is no concern of others.
                std::thread::spawn(move || store.serve(stream));
            }
        });
        Ok(server)
    }

    pub fn set(&self, name: &str, value: &str) -> Result<(), String> {
        self.store.set(name, value)
    }

    /// A line for each request: method, target, range, status, and `cut` if it was.
    pub fn log(&self) -> Vec<String> {
        self.store.log.lock().unwrap().clone()
    }

    /// Requests so far, with those that wait for their answers.
    pub fn arrived(&self) -> u64 {
        self.store.faults.lock().unwrap().count()
    }

    /// Bytes of all bodies so far.
    pub fn sent(&self) -> u64 {
        self.store.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.store.is_over.store(true, Ordering::Relaxed);
        // For the listening thread to notice.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl Store {
    fn options(&self) -> Options {
        self.options.lock().unwrap().clone()
    }

    fn set(&self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "objects" => self.made.lock().unwrap().extend(list::many(value)?),
            "object" => self.made.lock().unwrap().extend([list::one(&self.folder, value)?]),
            _ => self.options.lock().unwrap().set(name, value)?,
        }
        Ok(())
    }

    /// Answers the requests of one connection.
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut input = BufReader::new(stream.try_clone()?);
        while let Some(request) = Request::read(&mut input)? {
            let mut body = http::body(&request, &mut input, &stream)?;
            if let Some(control) = request.path.strip_prefix(b"/-/") {
                stream.write_all(self.control(control, &request).whole().as_bytes())?;
            } else if !self.answer(&request, &mut body, &mut stream)? {
                break;
            }
            io::copy(&mut body, &mut io::sink())?;
            if request.header("connection") == Some("close") || self.is_over.load(Ordering::Relaxed) {
                break;
            }
        }
        stream.shutdown(Shutdown::Both)
    }

    fn control(&self, name: &[u8], request: &Request) -> Reply {
        match name {
            b"counts" => {
                let requests = self.log.lock().unwrap().len();
                Reply::text(200, format!("{requests} {}\n", self.sent.load(Ordering::Relaxed)))
            }
            b"log" => Reply::text(200, self.log.lock().unwrap().concat()),
            b"set" => match request.query.iter().try_for_each(|(name, value)| self.set(name, value)) {
                Ok(()) => Reply::text(200, String::new()),
                Err(problem) => Reply::text(400, problem + "\n"),
            },
            _ => Reply::text(404, String::new()),
        }
    }

    /// Whether the connection stays open.
    fn answer(
        &self,
        request: &Request,
        body: &mut impl io::Read,
        stream: &mut TcpStream,
    ) -> io::Result<bool> {
        let options = self.options();
        let fault = self.faults.lock().unwrap().next(request, &options);
        std::thread::sleep(options.first_byte);
        let reply = match fault {
            Fault::Hang => {
                self.log(request, "-");
                while self.options().hang > 0.0 && !self.is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(20));
                }
                return Ok(false);
            }
            Fault::Busy => Reply::error(503, "SlowDown"),
            _ => self.reply(request, body, &options)?,
        };
        let len = if request.method == "HEAD" { 0 } else { reply.len() };
        let is_cut = fault == Fault::Cut && len > 1;
        // Before the client has it, so that a test that has read everything finds all of it in the log.
        self.log(request, &format!("{}{}", reply.status, if is_cut { " cut" } else { "" }));
        stream.write_all(reply.head().as_bytes())?;
        self.send(stream, reply.body, if is_cut { len / 2 } else { len }, options.rate)?;
        Ok(!is_cut)
    }

    fn log(&self, request: &Request, outcome: &str) {
        let range = request.header("range").unwrap_or("-");
        let line = format!("{} {} {range} {outcome}\n", request.method, request.target);
        self.log.lock().unwrap().push(line);
    }

    fn reply(&self, request: &Request, body: &mut impl io::Read, options: &Options) -> io::Result<Reply> {
        if let Some((status, code)) = &options.status {
            return Ok(Reply::error(*status, code));
        }
        if let Some(elsewhere) = &options.redirect {
            let reply = Reply::error(307, "TemporaryRedirect");
            return Ok(reply.with("Location", format!("{elsewhere}{}", request.target)));
        }
        Ok(match request.method.as_str() {
            "GET" if request.query("list-type") == Some("2") => self.list(request),
            "GET" | "HEAD" => self.get(request, options),
            "PUT" | "POST" | "DELETE" => self.write(request, body, options)?,
            _ => Reply::error(405, "MethodNotAllowed"),
        })
    }

    /// The first `len` bytes of a body, at the rate of a connection.
    fn send(&self, stream: &mut TcpStream, body: Body, len: u64, rate: Option<f64>) -> io::Result<()> {
        let (file, start) = match body {
            Body::Text(text) => {
                self.sent.fetch_add(len, Ordering::Relaxed);
                return stream.write_all(&text.as_bytes()[..len as usize]);
            }
            Body::File(file, range) => (file, range.start),
        };
        let piece = rate.map_or(PIECE, |rate| ((rate * PACE) as u64).clamp(1, PIECE));
        let mut buffer = vec![0; piece.min(len) as usize];
        let (begun, mut done) = (Instant::now(), 0);
        while done < len {
            let buffer = &mut buffer[..piece.min(len - done) as usize];
            file.read_exact_at(buffer, start + done)?;
            self.sent.fetch_add(buffer.len() as u64, Ordering::Relaxed);
            stream.write_all(buffer)?;
            done += buffer.len() as u64;
            if let Some(rate) = rate.filter(|_| done < len) {
                let due = Duration::from_secs_f64(done as f64 / rate);
                std::thread::sleep(due.saturating_sub(begun.elapsed()));
            }
        }
        Ok(())
    }
}
