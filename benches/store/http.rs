//! Just enough of HTTP/1.1: requests with a Content-Length, answers with one, connections that stay open.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes that are sent at a time.
const PIECE: u64 = 256 << 10;

pub struct Request {
    pub method: String,
    /// Percent-decoded, with the slash at its beginning.
    pub path: String,
    pub query: HashMap<String, String>,
    /// Names in lower case.
    headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

pub enum Body {
    Bytes(Vec<u8>),
    File(File, Range<u64>),
}

pub struct Answer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Body,
}

impl Answer {
    pub fn text(status: u16, text: String) -> Answer {
        Answer { status, headers: Vec::new(), body: Body::Bytes(text.into_bytes()) }
    }

    /// As S3 has them.
    pub fn error(status: u16, code: &str) -> Answer {
        Answer::text(status, format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>"))
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Answer {
        self.headers.push((name, value.into()));
        self
    }

    pub fn len(&self) -> u64 {
        match &self.body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::File(_, range) => range.end - range.start,
        }
    }
}

pub struct Connection {
    reader: BufReader<TcpStream>,
}

impl Connection {
    pub fn new(stream: TcpStream) -> Connection {
        Connection { reader: BufReader::new(stream) }
    }

    /// None: the other side has closed it.
    pub fn receive(&mut self) -> io::Result<Option<Request>> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
        let (method, (path, query)) = (method.to_owned(), target.split_once('?').unwrap_or((target, "")));
        let (path, query) = (decoded(path), pairs(query));
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let len = headers.get("content-length").and_then(|len| len.parse().ok()).unwrap_or(0);
        let mut body = vec![0; len];
        if headers.get("expect").is_some() {
            self.reader.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        self.reader.read_exact(&mut body)?;
        Ok(Some(Request { method, path, query, headers, body }))
    }

    /// At most `rate` bytes in a second; if it is to be cut, only half of it.
    pub fn send(&mut self, request: &Request, answer: Answer, rate: u64, is_cut: bool) -> io::Result<()> {
        let stream = self.reader.get_mut();
        let len = answer.len();
        let mut head = format!("HTTP/1.1 {} Some Reason\r\n", answer.status);
        for (name, value) in &answer.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        // Of 304 there is no content, and so no length.
        if answer.status != 304 {
            head.push_str(&format!("Content-Length: {len}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes())?;
        if request.method == "HEAD" {
            return Ok(());
        }
        let end = if is_cut { len / 2 } else { len };
        match answer.body {
            Body::Bytes(bytes) => stream.write_all(&bytes[..end as usize]),
            Body::File(file, range) => send_file(stream, &file, range.start..range.start + end, rate),
        }
    }
}

fn send_file(stream: &mut TcpStream, file: &File, range: Range<u64>, rate: u64) -> io::Result<()> {
    let begun = Instant::now();
    let mut buffer = vec![0; PIECE as usize];
    for at in range.clone().step_by(PIECE as usize) {
        let piece = &mut buffer[..PIECE.min(range.end - at) as usize];
        file.read_exact_at(piece, at)?;
        stream.write_all(piece)?;
        if rate > 0 {
            let due = Duration::from_secs_f64((at + piece.len() as u64 - range.start) as f64 / rate as f64);
            thread::sleep(due.saturating_sub(begun.elapsed()));
        }
    }
    Ok(())
}

fn pairs(query: &str) -> HashMap<String, String> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(name, value)| (decoded(name), decoded(&value.replace('+', " ")))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped =
            digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
