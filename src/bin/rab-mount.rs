fn main() {
    let a: Vec<_> = std::env::args_os().collect();
    rab::probe(a[1].as_ref(), a[2].as_ref());
}
