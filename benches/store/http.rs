//! As much of HTTP/1.1 (RFC 9112) as clients of stores use.

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::net::TcpStream;
use std::ops::Range;

pub struct Request {
    pub method: String,
    /// As it was sent.
    pub target: String,
    /// Decoded.
    pub path: Vec<u8>,
    pub query: Vec<(String, String)>,
    /// Names in lower case.
    headers: Vec<(String, String)>,
}

impl Request {
    /// None: the client has closed the connection.
    pub fn read(input: &mut impl BufRead) -> io::Result<Option<Request>> {
        let Some(line) = line(input)? else { return Ok(None) };
        let mut words = line.split(' ').map(str::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mut headers = Vec::new();
        while let Some(line) = self::line(input)?.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or(io::ErrorKind::InvalidData)?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let text = |text: &str| String::from_utf8_lossy(&decoded(&text.replace('+', " "))).into_owned();
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (text(name), text(value))
        };
        let query = query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect();
        Ok(Some(Request { path: decoded(path), query, method, headers, target }))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Bytes of the body.
    pub fn len(&self) -> u64 {
        self.header("content-length").and_then(|len| len.parse().ok()).unwrap_or(0)
    }

    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }
}

fn line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    match input.read_line(&mut line)? {
        0 => Ok(None),
        _ => Ok(Some(line.trim_end().to_owned())),
    }
}

/// The body of a request, of known length.
pub fn body<R: Read>(request: &Request, input: R, mut stream: &TcpStream) -> io::Result<io::Take<R>> {
    if request.header("transfer-encoding").is_some() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    if request.header("expect").is_some() {
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    Ok(input.take(request.len()))
}

/// Undoes percent-encoding.
pub fn decoded(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&part.as_bytes()[2..]);
            }
            None => bytes.extend(format!("%{part}").as_bytes()),
        }
    }
    bytes
}

pub fn encoded(bytes: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(byte);
    let one = |byte: &u8| if is_plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") };
    bytes.iter().map(one).collect()
}

pub enum Body {
    Text(String),
    File(File, Range<u64>),
}

pub struct Reply {
    pub status: u16,
    headers: Vec<(&'static str, String)>,
    pub body: Body,
}

impl Reply {
    pub fn text(status: u16, text: String) -> Reply {
        Reply { status, headers: Vec::new(), body: Body::Text(text) }
    }

    /// As stores explain themselves.
    pub fn error(status: u16, code: &str) -> Reply {
        let text = format!("<Error><Code>{code}</Code><Message>{code}</Message></Error>");
        Reply::text(status, text).with("Content-Type", "application/xml")
    }

    pub fn file(status: u16, file: File, range: Range<u64>) -> Reply {
        Reply { status, headers: Vec::new(), body: Body::File(file, range) }
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }

    pub fn len(&self) -> u64 {
        match &self.body {
            Body::Text(text) => text.len() as u64,
            Body::File(_, range) => range.end - range.start,
        }
    }

    pub fn head(&self) -> String {
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let status = self.status;
        // RFC 9110, sections 15.3.5 and 15.4.5: these have no body.
        let len = if matches!(status, 204 | 304) { String::new() } else { self.len().to_string() };
        let len = if len.is_empty() { len } else { format!("Content-Length: {len}\r\n") };
        format!("HTTP/1.1 {status} {status}\r\n{len}{}\r\n", headers.collect::<String>())
    }

    /// With its body, which is a text.
    pub fn whole(self) -> String {
        let head = self.head();
        match self.body {
            Body::Text(text) => head + &text,
            Body::File(..) => head,
        }
    }
}
