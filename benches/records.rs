//! Records per second of random batches through the library: `records FILE BATCH COUNT`.

use std::time::Instant;

use rab::ffrecord::Reader;

fn main() -> rab::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, batch, count] = arguments.as_slice() else { panic!("records FILE BATCH COUNT") };
    let (batch, count): (usize, usize) = (batch.parse().unwrap(), count.parse().unwrap());
    let reader = Reader::open(file)?;
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % reader.len()
    };
    let start = Instant::now();
    let mut bytes = 0;
    for _ in 0..count / batch {
        let numbers: Vec<u64> = (0..batch).map(|_| next()).collect();
        bytes += reader.read(&numbers)?.iter().map(|record| record.len()).sum::<usize>();
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{:.0} records/s, {:.0} MB/s", count as f64 / seconds, bytes as f64 / seconds / 1e6);
    Ok(())
}
