//! Writes the new file: every entry with its new offset, then the data. It replaces the old file if that is still the
//! one that was opened.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::super::write::{Writer, assemble};
use super::place::{self, Part, Placed};
use super::{Data, Editor};
use crate::format::writer::output::Piece;
use crate::source::Source;
use crate::{Error, Result};

impl Editor {
    /// Replaces the old file by the edited one once all of it is on disk. Without this call, nothing changes.
    pub fn finish(mut self) -> Result<()> {
        self.settle();
        let kept: Vec<u32> = (0..).zip(&self.slots).filter_map(|(place, data)| data.map(|_| place)).collect();
        let parts = kept.iter().map(|place| self.part(*place)).collect::<Result<Vec<Part>>>()?;
        let Placed { runs, offsets, .. } = place::place(parts.iter().cloned());
        drop(parts);

        let mut header = self.writer.new_header();
        let shown = self.place();
        let failed = |cause: io::Error| Error::write(shown.clone(), cause);
        for (place, offset) in kept.into_iter().zip(offsets) {
            header.push(self.entry(place, offset)?).map_err(failed)?;
        }
        let (mut text, len) = header.finish().map_err(failed)?;
        let Editor { source, writer: Writer { output, .. }, .. } = self;
        let piece = |run: &place::Run| Piece {
            from: run.is_old.then_some(source.own_file()),
            start: run.start,
            len: run.len,
            at: run.at,
        };
        let pieces: Vec<Piece<'_>> = runs.iter().map(piece).collect();
        let whole = assemble(output, &pieces, &mut text, len).map_err(|cause| {
            // If the old file changed meanwhile, that is the more helpful error.
            source.check().err().unwrap_or_else(|| failed(cause))
        })?;
        source.check()?;
        if !is_same(source.own_file(), whole.target()) {
            return Err(Error::Changed { file: source.path().to_owned() });
        }
        whole.replace().map_err(failed)
    }

    /// Where the data of a dataset is now.
    fn part(&self, place: u32) -> Result<Part> {
        match self.slots.get(place as usize) {
            Some(Some(Data::Added(number))) => {
                let data = self.added.get(*number as usize).map(|added| added.data.clone());
                Ok(Part::New(data.unwrap_or_default()))
            }
            _ => match self.records.data(place) {
                Ok(data) => Ok(Part::Old(data.stored)),
                Err(fault) => {
                    let entry = self.records.text(place, &self.source, self.layout)?;
                    let problem =
                        format!("{}; it cannot be carried over, only removed or replaced", fault.problem);
                    Err(Error::damaged(entry.place(&self.source), problem))
                }
            },
        }
    }
}

/// Is the file at the path still the one that was opened?
fn is_same(opened: &fs::File, path: &Path) -> bool {
    let identity = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let (opened, there) = (opened.metadata().map(identity), fs::metadata(path).map(identity));
    opened.ok().zip(there.ok()).is_some_and(|(opened, there)| opened == there)
}
