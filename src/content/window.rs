//! Sequential output of which only a window is kept; bytes outside it are only counted.

use crate::Result;

pub struct Window<'a> {
    /// None: nothing is wanted but the length.
    room: Option<&'a mut [u8]>,
    /// Where what is wanted begins.
    skip: u64,
    /// Bytes that were put in or passed over.
    len: u64,
}

impl<'a> Window<'a> {
    /// What fits into `room`, from byte `skip` on.
    pub fn new(room: &'a mut [u8], skip: u64) -> Window<'a> {
        Window { room: Some(room), skip, len: 0 }
    }

    pub fn measuring() -> Window<'static> {
        Window { room: None, skip: 0, len: 0 }
    }

    /// How many bytes were made so far, wanted or not.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// How many bytes are in the room.
    pub fn filled(&self) -> usize {
        let room = self.room.as_ref().map_or(0, |room| room.len());
        room.min(usize::try_from(self.len.saturating_sub(self.skip)).unwrap_or(usize::MAX))
    }

    pub fn put(&mut self, bytes: &[u8]) {
        let _ = self.put_with(bytes.len() as u64, |room, from| {
            let wanted = bytes.get(from as usize..).and_then(|bytes| bytes.get(..room.len()));
            room.copy_from_slice(wanted.unwrap_or_default());
            Ok(())
        });
    }

    /// `len` bytes more; `fill` is asked for those of them that are wanted, from one of them on.
    pub fn put_with(&mut self, len: u64, fill: impl FnOnce(&mut [u8], u64) -> Result<()>) -> Result<()> {
        let (filled, start) = (self.filled(), self.len);
        self.len = start.saturating_add(len);
        let end = self.filled();
        let Some(room) = self.room.as_mut().and_then(|room| room.get_mut(filled..end)) else { return Ok(()) };
        let done = if room.is_empty() { Ok(()) } else { fill(room, self.skip.saturating_sub(start)) };
        if done.is_err() {
            // Nobody knows what of it is in the room: none of it counts.
            self.len = start;
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_is_asked_for_and_no_more() {
        let whole: Vec<u8> = (0..40).collect();
        for skip in 0..45 {
            for size in 0..45 {
                let (mut room, mut asked) = (vec![255; size], 0);
                let mut window = Window::new(&mut room, skip as u64);
                for piece in whole.chunks(7) {
                    window.put(&piece[..2.min(piece.len())]);
                    let rest = &piece[2.min(piece.len())..];
                    let fill = |room: &mut [u8], from: u64| {
                        asked += room.len();
                        room.copy_from_slice(&rest[from as usize..][..room.len()]);
                        Ok(())
                    };
                    window.put_with(rest.len() as u64, fill).unwrap();
                }
                let want = &whole[skip.min(40)..(skip + size).min(40)];
                assert_eq!((window.len(), window.filled()), (40, want.len()));
                assert_eq!(&room[..want.len()], want);
                assert!(room[want.len()..].iter().all(|byte| *byte == 255) && asked <= want.len());
            }
        }
    }

    #[test]
    fn what_fails_does_not_count() {
        let mut room = [0; 10];
        let mut window = Window::new(&mut room, 1);
        window.put(b"abc");
        let failed = window.put_with(4, |_, _| Err(crate::Error::NotFound));
        assert_eq!((failed.is_err(), window.len(), window.filled()), (true, 3, 2));
    }

    #[test]
    fn measuring_asks_for_nothing() {
        let mut window = Window::measuring();
        window.put(b"abc");
        window.put_with(1 << 40, |_, _| panic!("nothing is wanted")).unwrap();
        assert_eq!((window.len(), window.filled()), ((1 << 40) + 3, 0));
    }
}
