//! Streams to decode: of zlib-rs with all its strategies, and of blocks with codes and symbols that no encoder makes.

use libz_rs_sys as z;

use super::oracle;

/// A deterministic pseudorandom generator.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end.max(1)
    }

    /// Below `end`, smaller numbers far more often.
    pub fn small(&mut self, end: usize) -> usize {
        let bits = self.below(usize::BITS as usize - end.leading_zeros() as usize) + 1;
        self.below(end.min(1 << bits))
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Any stream, good or bad.
pub fn any(rng: &mut Rng) -> Vec<u8> {
    let mut stream = if rng.one_in(2) { compressed(rng) } else { made(rng) };
    match rng.below(4) {
        0 => {}
        1 => stream.truncate(rng.below(stream.len() + 1)),
        _ => {
            for _ in 0..1 + rng.small(8) {
                let at = if rng.one_in(2) { rng.below(stream.len()) } else { rng.small(stream.len()) };
                if let Some(byte) = stream.get_mut(at) {
                    *byte ^= 1 << rng.below(8);
                }
            }
        }
    }
    // What follows a stream is not its own.
    for _ in 0..rng.small(60) {
        stream.push(rng.next() as u8);
    }
    stream
}

/// A stream of zlib-rs.
pub fn compressed(rng: &mut Rng) -> Vec<u8> {
    let len = rng.small(60_000);
    let bytes = sample(rng, len);
    let mut pieces = Vec::new();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let whole = rng.one_in(3);
        let (piece, after) = rest.split_at(if whole { rest.len() } else { 1 + rng.below(rest.len()) });
        let flushes = [z::Z_NO_FLUSH, z::Z_PARTIAL_FLUSH, z::Z_SYNC_FLUSH, z::Z_FULL_FLUSH, z::Z_BLOCK];
        pieces.push((piece, flushes[rng.below(5)]));
        rest = after;
    }
    let strategies = [z::Z_DEFAULT_STRATEGY, z::Z_FILTERED, z::Z_HUFFMAN_ONLY, z::Z_RLE, z::Z_FIXED];
    oracle::encode(&pieces, rng.below(10) as i32, strategies[rng.below(5)])
}

/// Bytes of which some repeat.
pub fn sample(rng: &mut Rng, len: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::with_capacity(len);
    let (letters, repeats) = (1 + rng.small(255), rng.below(4));
    while bytes.len() < len {
        if bytes.is_empty() || rng.below(4) > repeats {
            (0..1 + rng.small(300)).for_each(|_| bytes.push(rng.below(letters) as u8));
        } else {
            let distance = 1 + rng.small(bytes.len().min(32_768));
            for _ in 0..3 + rng.small(600) {
                bytes.push(bytes[bytes.len() - distance]);
            }
        }
    }
    bytes.truncate(len);
    bytes
}

/// A stream of any symbols in any codes.
fn made(rng: &mut Rng) -> Vec<u8> {
    let mut out = Writer::default();
    let blocks = 1 + rng.small(6);
    for block in 0..blocks {
        out.bits(u64::from(block + 1 == blocks), 1);
        match rng.below(8) {
            0 => stored(rng, &mut out),
            1 => {
                out.bits(1, 2);
                let mut literals = [8; 288];
                literals[144..256].fill(9);
                literals[256..280].fill(7);
                symbols(rng, &mut out, &literals, &[5; 32]);
            }
            _ => dynamic(rng, &mut out),
        }
    }
    out.bytes
}

fn stored(rng: &mut Rng, out: &mut Writer) {
    out.bits(0, 2);
    out.free = 0;
    let len = if rng.one_in(4) { 0 } else { rng.small(40_000) };
    out.bits(len as u64, 16);
    out.bits(!len as u64 & 0xffff, 16);
    (0..len).for_each(|at| out.bits((at % 251) as u64, 8));
    out.written += len;
}

fn dynamic(rng: &mut Rng, out: &mut Writer) {
    let (most, deep) = ([3, 20, 286][rng.below(3)], [4, 9, 12, 13, 15][rng.below(5)]);
    let count = 1 + rng.small(most);
    let mut literals = lengths(rng, 286, count, deep);
    if literals[256] == 0 && !rng.one_in(50) {
        // The end of the block takes the code of another symbol.
        let other = literals.iter().position(|length| *length > 0).unwrap();
        literals.swap(256, other);
    }
    let count = [0, 1, 2, 1 + rng.below(30)][rng.below(4)];
    let distances = lengths(rng, 30, count, deep);
    let end = |lengths: &[u8]| lengths.iter().rposition(|length| *length > 0).map_or(0, |last| last + 1);
    let (used, used_distances) = (end(&literals).max(257), end(&distances).max(1));
    out.bits(2, 2);
    out.bits(used as u64 - 257, 5);
    out.bits(used_distances as u64 - 1, 5);
    out.bits(15, 4);
    // 13 codes of four bits and 6 of five.
    let of_lengths: Vec<u8> = (0..19).map(|symbol| if symbol < 13 { 4 } else { 5 }).collect();
    [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
        .iter()
        .for_each(|symbol| out.bits(of_lengths[*symbol].into(), 3));
    let all = [&literals[..used], &distances[..used_distances]].concat();
    write_lengths(rng, out, &Code::new(&of_lengths), &all);
    symbols(rng, out, &literals, &distances);
}

fn write_lengths(rng: &mut Rng, out: &mut Writer, code: &Code, all: &[u8]) {
    let mut at = 0;
    while at < all.len() {
        let run = all[at..].iter().take_while(|length| **length == all[at]).count();
        if all[at] == 0 && run >= 3 && !rng.one_in(5) {
            let run = run.min(138);
            code.write(out, if run < 11 { 17 } else { 18 });
            out.bits(run as u64 - if run < 11 { 3 } else { 11 }, if run < 11 { 3 } else { 7 });
            at += run;
        } else if at > 0 && all[at] == all[at - 1] && run >= 3 && !rng.one_in(5) {
            let run = run.min(6);
            code.write(out, 16);
            out.bits(run as u64 - 3, 2);
            at += run;
        } else {
            code.write(out, all[at].into());
            at += 1;
        }
    }
}

/// Lengths of a complete code for `count` of the symbols, or of a single code of one bit.
fn lengths(rng: &mut Rng, symbols: usize, count: usize, deepest: u8) -> Vec<u8> {
    let mut leaves: Vec<u8> = if count == 0 { Vec::new() } else { vec![u8::from(count == 1)] };
    while leaves.len() < count {
        // Often the deepest one, so that there are long codes.
        let deep = leaves.iter().enumerate().filter(|(_, depth)| **depth < deepest);
        let Some(at) =
            deep.max_by_key(|(at, depth)| (if rng.one_in(2) { **depth } else { 0 }, *at)).map(|(at, _)| at)
        else {
            break;
        };
        leaves[at] += 1;
        leaves.push(leaves[at]);
        let (last, other) = (leaves.len() - 1, rng.below(leaves.len()));
        leaves.swap(last, other);
    }
    let mut lengths = vec![0; symbols];
    for leaf in leaves {
        let mut at = rng.below(symbols);
        while lengths[at] > 0 {
            at = (at + 1) % symbols;
        }
        lengths[at] = leaf;
    }
    lengths
}

/// Symbols of these codes, mostly such that the stream is right, and the end of the block.
fn symbols(rng: &mut Rng, out: &mut Writer, literals: &[u8], distances: &[u8]) {
    let (code, code_of_distances) = (Code::new(literals), Code::new(distances));
    let used: Vec<usize> = (0..literals.len()).filter(|symbol| literals[*symbol] > 0).collect();
    let used_distances: Vec<usize> = (0..distances.len()).filter(|symbol| distances[*symbol] > 0).collect();
    for _ in 0..rng.small(3_000) {
        let symbol = used[rng.below(used.len())];
        match symbol {
            256 => continue,
            0..256 => {
                code.write(out, symbol);
                out.written += 1;
                continue;
            }
            _ => {}
        }
        // The lowest distance of each symbol is 1 + the extra bits of all before it.
        let pick =
            if used_distances.is_empty() { 0 } else { used_distances[rng.below(used_distances.len())] };
        let extra = (pick as u32 / 2).saturating_sub(1);
        let lowest = if pick < 4 { pick + 1 } else { ((2 + pick % 2) << extra) + 1 };
        let room = out.written.saturating_sub(lowest);
        let is_wrong = used_distances.is_empty() || symbol > 285 || pick > 29 || lowest > out.written;
        if is_wrong && !rng.one_in(5_000) {
            continue;
        }
        code.write(out, symbol);
        let bits = match symbol {
            265..285 => (symbol as u32 - 261) / 4,
            _ => 0,
        };
        out.bits(rng.next(), bits);
        out.written += 3;
        if used_distances.is_empty() {
            continue;
        }
        code_of_distances.write(out, pick);
        let offset = if room == 0 { 0 } else { [room, rng.below(room + 1)][rng.below(2)] };
        out.bits(offset.min((1 << extra) - 1) as u64, extra);
    }
    if literals[256] > 0 {
        code.write(out, 256);
    }
}

#[derive(Default)]
pub struct Writer {
    pub bytes: Vec<u8>,
    /// Unused bits of the last byte.
    free: u32,
    /// At least so many bytes have been decoded before what comes next.
    written: usize,
}

impl Writer {
    /// Appends the lowest `count` bits.
    pub fn bits(&mut self, bits: u64, count: u32) {
        for bit in 0..count {
            if self.free == 0 {
                self.bytes.push(0);
                self.free = 8;
            }
            *self.bytes.last_mut().unwrap() |= ((bits >> bit & 1) as u8) << (8 - self.free);
            self.free -= 1;
        }
    }
}

/// RFC 1951, 3.2.2.
struct Code(Vec<(u64, u32)>);

impl Code {
    fn new(lengths: &[u8]) -> Code {
        let mut code = 0;
        let mut codes = vec![(0, 0); lengths.len()];
        for length in 1..16 {
            for symbol in (0..lengths.len()).filter(|symbol| lengths[*symbol] == length) {
                let length = u32::from(length);
                codes[symbol] =
                    ((0..length).fold(0, |bits, at| bits | (code >> at & 1) << (length - 1 - at)), length);
                code += 1;
            }
            code <<= 1;
        }
        Code(codes)
    }

    fn write(&self, out: &mut Writer, symbol: usize) {
        let (code, length) = self.0[symbol];
        out.bits(code, length);
    }
}
