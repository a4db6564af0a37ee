//! A small object store for tests and benchmarks: the files of a folder as objects, by plain HTTP and by what S3 and
//! Google's XML interface have in common. It waits, limits each connection's rate and fails as it is told, and counts
//! requests.
//!
//! ```text
//! store FOLDER [NAME=VALUE...]     prints its port; PATH is /BUCKET/KEY, and so FOLDER/BUCKET/KEY
//! GET /-/set?NAME=VALUE&...        sets options: see Options
//! GET /-/counts                    requests and bytes sent so far
//! GET /-/log                       a line for each request: method, path, range, status
//! ```
//!
//! Signatures are not looked at. Tests have it as a module and start it in a thread.

#[path = "store/http.rs"]
mod http;
#[path = "store/list.rs"]
mod list;
#[path = "store/objects.rs"]
mod objects;
#[path = "store/upload.rs"]
mod upload;

use std::collections::HashMap;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use http::{Answer, Connection, Request};

/// All are numbers, 0 at first.
#[derive(Default)]
pub struct Options {
    /// Milliseconds before each answer.
    pub first_byte: AtomicU64,
    /// MB/s of each connection; 0: as fast as it can.
    pub rate: AtomicU64,
    /// Every so many-th request is refused with 503.
    pub refuse: AtomicU64,
    /// The answer to every so many-th request is cut off in its middle.
    pub cut: AtomicU64,
    /// Not 0: conditions (If-Match and the like) are ignored.
    pub ignore_conditions: AtomicU64,
    /// Not 0: each answer is of another version, by its tag and its time.
    pub changing: AtomicU64,
    /// Not 0: there are no entity tags.
    pub untagged: AtomicU64,
    /// Not 0: no request is answered any more.
    pub hang: AtomicU64,
    /// Objects that a listing of the bucket `many` has.
    pub many: AtomicU64,
}

impl Options {
    fn named(&self, name: &str) -> Option<&AtomicU64> {
        Some(match name {
            "first_byte" => &self.first_byte,
            "rate" => &self.rate,
            "refuse" => &self.refuse,
            "cut" => &self.cut,
            "ignore_conditions" => &self.ignore_conditions,
            "changing" => &self.changing,
            "untagged" => &self.untagged,
            "hang" => &self.hang,
            "many" => &self.many,
            _ => return None,
        })
    }

    fn set(&self, pairs: &HashMap<String, String>) -> Result<(), String> {
        for (name, value) in pairs {
            let option = self.named(name).ok_or(format!("no option {name}"))?;
            option.store(value.parse().map_err(|_| format!("{name}={value}"))?, Ordering::Relaxed);
        }
        Ok(())
    }
}

pub fn is_set(option: &AtomicU64) -> bool {
    option.load(Ordering::Relaxed) != 0
}

pub struct Store {
    pub folder: PathBuf,
    pub options: Options,
    pub uploads: Mutex<HashMap<String, upload::Parts>>,
    requests: AtomicU64,
    sent: AtomicU64,
    log: Mutex<String>,
}

#[allow(dead_code)] // in tests
fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let folder = arguments.next().expect("usage: store FOLDER [NAME=VALUE...]");
    let (store, port) = Store::start(folder.into());
    let pairs = arguments.map(|pair| {
        let (name, value) = pair.split_once('=').expect("options are NAME=VALUE");
        (name.to_owned(), value.to_owned())
    });
    store.options.set(&pairs.collect()).unwrap();
    println!("{port}");
    loop {
        thread::park();
    }
}

/// All requests of a connection, until it fails or is cut off.
fn serve(store: &Store, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut connection = Connection::new(stream);
    while let Ok(Some(request)) = connection.receive() {
        if let Some(own) = request.path.strip_prefix("/-/") {
            let _ = connection.send(&request, store.about_itself(own, &request), 0, false);
            continue;
        }
        while is_set(&store.options.hang) {
            thread::sleep(Duration::from_millis(20));
        }
        let number = store.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let every = |option: &AtomicU64| {
            let count = option.load(Ordering::Relaxed);
            count != 0 && number.is_multiple_of(count)
        };
        thread::sleep(Duration::from_millis(store.options.first_byte.load(Ordering::Relaxed)));
        let answer = match every(&store.options.refuse) {
            true => Answer::error(503, "SlowDown"),
            false => store.answer(&request),
        };
        store.note(&request, &answer);
        let is_cut = every(&store.options.cut);
        let rate = store.options.rate.load(Ordering::Relaxed) * 1_000_000;
        if connection.send(&request, answer, rate, is_cut).is_err() || is_cut {
            return;
        }
    }
}

impl Store {
    /// Serves a folder until the process ends. Returns the port too.
    pub fn start(folder: PathBuf) -> (&'static Store, u16) {
        let store: &'static Store = Box::leak(Box::new(Store {
            folder,
            options: Options::default(),
            uploads: Mutex::default(),
            requests: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            log: Mutex::default(),
        }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || serve(store, stream));
            }
        });
        (store, port)
    }

    #[allow(dead_code)] // in the benchmark, which asks by HTTP
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    #[allow(dead_code)]
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    fn answer(&self, request: &Request) -> Answer {
        let has = |name| request.query.contains_key(name);
        match request.method.as_str() {
            "GET" if has("list-type") => list::answer(self, request),
            "GET" | "HEAD" => objects::get(self, request),
            "PUT" if has("partNumber") => upload::part(self, request),
            "PUT" => objects::put(self, request),
            "POST" if has("uploads") => upload::begin(self, request),
            "POST" if has("uploadId") => upload::complete(self, request),
            "DELETE" if has("uploadId") => upload::abort(self, request),
            _ => Answer::error(405, "MethodNotAllowed"),
        }
    }

    fn about_itself(&self, what: &str, request: &Request) -> Answer {
        match what {
            "counts" => {
                let (requests, sent) = (&self.requests, &self.sent);
                let counts =
                    format!("{} {}\n", requests.load(Ordering::Relaxed), sent.load(Ordering::Relaxed));
                Answer::text(200, counts)
            }
            "log" => Answer::text(200, self.log.lock().unwrap().clone()),
            "set" => match self.options.set(&request.query) {
                Ok(()) => Answer::text(200, String::new()),
                Err(problem) => Answer::text(400, problem),
            },
            _ => Answer::error(404, "NoSuchKey"),
        }
    }

    fn note(&self, request: &Request, answer: &Answer) {
        self.sent.fetch_add(answer.len(), Ordering::Relaxed);
        let range = request.header("range").unwrap_or("-");
        let line = format!("{} {} {range} {}\n", request.method, request.path, answer.status);
        self.log.lock().unwrap().push_str(&line);
    }
}
