//! Copies matches, in chunks that may be longer than what is left of them.

use super::output::SLACK;

const CHUNK: usize = 16;

/// Repeats `length` bytes from `distance` bytes before `end + written`, to where they are appended; false if there
/// are no such bytes. May overwrite a chunk behind them. There are [`SLACK`] bytes from `end` on.
#[inline(always)]
pub fn repeat(bytes: &mut [u8], end: usize, written: usize, distance: usize, length: usize) -> bool {
    let to = end + written;
    let Some(from) = to.checked_sub(distance) else { return false };
    if distance < CHUNK {
        near(bytes, from, to, length);
        return true;
    }
    // Most matches are one chunk. Its place in the slack needs no check, as against one by `to`.
    let chunk = load::<CHUNK>(bytes, from);
    let room = bytes.get_mut(end..).and_then(|rest| rest.first_chunk_mut::<SLACK>());
    if let Some(place) = room.and_then(|room| room.get_mut(written..)).and_then(|rest| rest.first_chunk_mut())
    {
        *place = chunk;
    }
    let mut done = CHUNK;
    while done < length {
        let chunk = load::<CHUNK>(bytes, from + done);
        store(bytes, to + done, chunk);
        done += CHUNK;
    }
    true
}

/// Repeats bytes less than a chunk back.
#[inline(always)]
fn near(bytes: &mut [u8], from: usize, to: usize, length: usize) {
    const HALF: usize = CHUNK / 2;
    let distance = to - from;
    let mut done = 0;
    if distance == 1 {
        let [byte] = load(bytes, from);
        while done < length {
            store(bytes, to + done, [byte; CHUNK]);
            done += CHUNK;
        }
        return;
    }
    // What is already there, once more.
    let step = distance.min(HALF);
    while done < length {
        let chunk = load::<HALF>(bytes, from + done);
        store(bytes, to + done, chunk);
        done += step;
    }
}

#[inline(always)]
fn load<const N: usize>(bytes: &[u8], from: usize) -> [u8; N] {
    let chunk = bytes.get(from..).and_then(|rest| rest.first_chunk());
    chunk.copied().unwrap_or([0; N])
}

#[inline(always)]
fn store<const N: usize>(bytes: &mut [u8], to: usize, chunk: [u8; N]) {
    if let Some(place) = bytes.get_mut(to..).and_then(|rest| rest.first_chunk_mut()) {
        *place = chunk;
    }
}
