//! A small object store for `scripts/bench`, as far from its clients and as faulty as one wishes.
//!
//! `store FOLDER [address=HOST:PORT] [NAME=VALUE...]` serves FOLDER and prints the port. What it serves and the options
//! are in `store/mod.rs` and `store/options.rs`.

#[path = "store/mod.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod server;

use server::Server;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let folder = arguments.next().ok_or("usage: store FOLDER [address=HOST:PORT] [NAME=VALUE...]")?;
    let address = arguments.next_if(|argument| argument.starts_with("address="));
    let address = address.as_deref().map_or("127.0.0.1:0", |argument| &argument["address=".len()..]);
    let server = Server::start(folder.as_ref(), address)?;
    for argument in arguments {
        let (name, value) = argument.split_once('=').ok_or("an option is NAME=VALUE")?;
        server.set(name, value)?;
    }
    println!("{}", server.port);
    loop {
        std::thread::park();
    }
}
