//! Chunked bodies, decoded as they arrive.
//!
//! Chunk extensions and trailers are read and dropped; every line has a bound. Anything that a stricter or laxer parser
//! in front of us could have read differently is rejected.

/// Longest chunk-size line or trailer line.
const LINE_BYTES_MAX: usize = 4 * 1024;
/// Chunks allowed for any body: clients send kilobytes at a time, and each chunk costs the parsing of a line.
const CHUNKS_MAX: usize = 64 * 1024;
/// Each further chunk is allowed only after this many bytes.
const CHUNK_BYTES_USUAL: u64 = 1024;
/// Most trailer lines.
const TRAILERS_MAX: usize = 100;

/// The result of decoding some input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// More is needed.
    More,
    /// The body is complete.
    Done,
}

/// Why a chunked body is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkError {
    /// It does not follow the grammar.
    Malformed,
    /// It is longer than allowed.
    TooLarge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Size,
    Data(usize),
    DataEnd,
    Trailer(usize),
    Done,
}

/// Decodes one chunked body.
#[derive(Debug)]
pub struct Chunked {
    state: State,
    /// Decoded and not taken yet.
    body: Vec<u8>,
    /// Total bytes decoded, including those already taken.
    total: u64,
    bytes_max: u64,
    chunks: usize,
    /// Bound on `chunks`: grows with the bytes received, so that tiny chunks cannot cause unbounded work.
    chunks_max: usize,
}

impl Chunked {
    /// A body of at most `bytes_max` bytes.
    pub fn new(bytes_max: u64) -> Self {
        Self { state: State::Size, body: Vec::new(), total: 0, bytes_max, chunks: 0, chunks_max: CHUNKS_MAX }
    }

    /// Bytes decoded and not taken yet.
    pub fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// Takes the bytes decoded so far: for bodies that are streamed.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.body)
    }

    /// The body, once it is complete.
    pub fn into_body(self) -> Vec<u8> {
        self.body
    }

    /// Consumes as much of `input` as possible; returns the number of consumed bytes.
    pub fn feed(&mut self, input: &[u8]) -> Result<(usize, Progress), ChunkError> {
        let mut used = 0;
        loop {
            let rest = &input[used..];
            let taken = match self.state {
                State::Done => return Ok((used, Progress::Done)),
                State::Data(left) => self.take_data(rest, left),
                State::Size => self.take_line(rest, |this, line| this.start_chunk(line))?,
                State::DataEnd => self.take_line(rest, |this, line| {
                    this.state = State::Size;
                    if line.is_empty() { Ok(()) } else { Err(ChunkError::Malformed) }
                })?,
                State::Trailer(count) => self.take_line(rest, |this, line| this.trailer(line, count))?,
            };
            match taken {
                0 => return Ok((used, Progress::More)),
                taken => used += taken,
            }
        }
    }

    fn take_data(&mut self, input: &[u8], left: usize) -> usize {
        let taken = left.min(input.len());
        self.make_room(taken);
        self.body.extend_from_slice(&input[..taken]);
        self.total += taken as u64;
        self.chunks_max = CHUNKS_MAX + usize::try_from(self.total / CHUNK_BYTES_USUAL).unwrap_or(usize::MAX);
        self.state = if taken == left { State::DataEnd } else { State::Data(left - taken) };
        taken
    }

    /// Reserves room for this many more bytes. The buffer doubles as the body grows, and never exceeds what the
    /// longest body needs.
    pub fn make_room(&mut self, bytes: usize) {
        let needed = self.body.len() + bytes;
        if needed > self.body.capacity() {
            let max = usize::try_from(self.bytes_max).unwrap_or(usize::MAX);
            let wanted = needed.max(2 * self.body.capacity()).min(max.max(needed));
            self.body.reserve_exact(wanted - self.body.len());
        }
    }

    fn take_line(
        &mut self,
        input: &[u8],
        with: impl FnOnce(&mut Self, &[u8]) -> Result<(), ChunkError>,
    ) -> Result<usize, ChunkError> {
        let Some(end) = input.iter().take(LINE_BYTES_MAX).position(|&b| b == b'\n') else {
            return if input.len() >= LINE_BYTES_MAX { Err(ChunkError::Malformed) } else { Ok(0) };
        };
        // A line must end with CR LF: a bare LF is where smuggled requests begin.
        let line = input[..end].strip_suffix(b"\r").ok_or(ChunkError::Malformed)?;
        if line.iter().any(|&b| b.is_ascii_control() && b != b'\t') {
            return Err(ChunkError::Malformed);
        }
        with(self, line)?;
        Ok(end + 1)
    }

    fn start_chunk(&mut self, line: &[u8]) -> Result<(), ChunkError> {
        self.chunks += 1;
        if self.chunks > self.chunks_max {
            return Err(ChunkError::Malformed);
        }
        let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let (number, rest) = line.split_at(digits);
        let extension_follows = matches!(rest.trim_ascii_start().first(), None | Some(b';'));
        let text = std::str::from_utf8(number).map_err(|_| ChunkError::Malformed)?;
        let size = usize::from_str_radix(text, 16).map_err(|_| ChunkError::Malformed)?;
        if !extension_follows || digits > 8 {
            return Err(ChunkError::Malformed);
        }
        if size as u64 > self.bytes_max - self.total {
            return Err(ChunkError::TooLarge);
        }
        self.state = if size == 0 { State::Trailer(0) } else { State::Data(size) };
        Ok(())
    }

    fn trailer(&mut self, line: &[u8], count: usize) -> Result<(), ChunkError> {
        self.state = if line.is_empty() { State::Done } else { State::Trailer(count + 1) };
        let is_trailer = line.is_empty() || is_field(line);
        if is_trailer && count <= TRAILERS_MAX { Ok(()) } else { Err(ChunkError::Malformed) }
    }
}

/// Does the line look like a header field: a name, a colon, a value?
fn is_field(line: &[u8]) -> bool {
    let name_end = line.iter().position(|&b| b == b':').unwrap_or(0);
    name_end > 0 && line[..name_end].iter().all(|&b| b.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `input` in pieces of each size; the result must not depend on it.
    fn decode(input: &str, max: u64) -> Result<(String, usize), ChunkError> {
        let mut results = (1..=input.len().max(1)).map(|piece| decode_in_pieces(input, max, piece));
        let first = results.next().expect("there is a first size");
        assert!(results.all(|other| other == first), "{input}");
        first
    }

    fn decode_in_pieces(input: &str, max: u64, piece: usize) -> Result<(String, usize), ChunkError> {
        let mut chunked = Chunked::new(max);
        let mut pending = Vec::new();
        let mut total = 0;
        for part in input.as_bytes().chunks(piece) {
            pending.extend_from_slice(part);
            let (used, progress) = chunked.feed(&pending)?;
            pending.drain(..used);
            total += used;
            if progress == Progress::Done {
                break;
            }
        }
        Ok((String::from_utf8(chunked.into_body()).unwrap(), total))
    }

    #[test]
    fn bodies() {
        assert_eq!(decode("5\r\nhello\r\n0\r\n\r\nNEXT", 100), Ok(("hello".into(), 15)));
        assert_eq!(
            decode("5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nT: v\r\n\r\n", 100),
            Ok(("hello world".into(), 36))
        );
        assert_eq!(decode("0\r\n\r\n", 0), Ok((String::new(), 5)));
    }

    #[test]
    fn abuse() {
        for bad in [
            "x\r\n",
            "5\nhello",
            "5\r\nhelloX\r\n",
            "-1\r\n",
            "\r\n",
            "5 5\r\nhello\r\n",
            "5;\rx\r\nhello\r\n",
            "fffffffff\r\n",
            "0\r\nnot a field\r\n",
            "0\r\n: no name\r\n",
            "0\r\nA: b\r\n folded: c\r\n",
        ] {
            assert_eq!(decode(bad, 100), Err(ChunkError::Malformed), "{bad}");
        }
        assert_eq!(decode("65\r\n", 100), Err(ChunkError::TooLarge));
        assert_eq!(decode("5\r\nhello\r\n60\r\n", 100), Err(ChunkError::TooLarge));
        let long = "0".repeat(LINE_BYTES_MAX + 1);
        assert_eq!(decode_in_pieces(&long, 10, 512), Err(ChunkError::Malformed));
    }
}
