//! Assigns positions to pieces in stores without files.
//!
//! Invariants: positions within a stream do not overlap, and a stream belongs to one process. Positions are
//! compatible with a store that uses pack files, so that it can adopt the pieces: there is a bounded number of
//! large streams, and offsets are aligned.

use crate::content::piece::{STREAM_BYTES_MAX, Spot, footprint};

/// The end of the stream in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    current: Option<Spot>,
}

impl Streams {
    /// A position for a piece of `length` bytes; `None` if a new stream is needed.
    pub fn place(&mut self, length: u32) -> Option<Spot> {
        let spot = self.current.filter(|spot| spot.offset < STREAM_BYTES_MAX)?;
        self.current = Some(Spot { offset: spot.offset + footprint(length), ..spot });
        Some(spot)
    }

    /// Continues in an unused stream.
    pub fn enter(&mut self, stream: u64) {
        self.current = Some(Spot { stream, offset: 0 });
    }

    /// Abandons the current stream, which is never used again.
    pub fn leave(&mut self) {
        self.current = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::piece::PIECE_BYTES_MAX;

    #[test]
    fn positions_do_not_overlap_and_streams_end() {
        let mut streams = Streams::default();
        assert_eq!(streams.place(1), None);
        streams.enter(5);
        assert_eq!(streams.place(4097), Some(Spot { stream: 5, offset: 0 }));
        assert_eq!(streams.place(1), Some(Spot { stream: 5, offset: 8192 }));
        assert_eq!(streams.place(1), Some(Spot { stream: 5, offset: 12_288 }));
        let mut count = 0;
        while streams.place(PIECE_BYTES_MAX).is_some() {
            count += 1;
        }
        assert_eq!(count, 64);
        streams.enter(6);
        assert_eq!(streams.place(1), Some(Spot { stream: 6, offset: 0 }));
        streams.leave();
        assert_eq!(streams.place(1), None);
    }
}
