//! MD5, of one stream or of several at a time.
//!
//! Each step of MD5 needs the result of the previous one, so a single stream uses only a part of a processor
//! core. Four interleaved streams take little longer than one. [`super::lanes`] brings them together.

use std::ops::{Add, BitAnd, BitOr, BitXor, Not};

use bytes::Bytes;
use wide::{u32x4, u32x8};

/// Streams that are hashed side by side.
pub const LANES: usize = 4;
/// Maximum number of bodies that are hashed side by side.
pub const BODIES: usize = 8;
/// Fewer bodies are hashed faster one after the other.
const BODIES_MIN: usize = 3;
const BLOCK: usize = 64;

/// The hash of a stream so far.
#[derive(Clone)]
pub struct Md5 {
    state: [u32; 4],
    /// Bytes so far.
    length: u64,
    /// Bytes that do not fill a block yet: the last `length % 64`.
    rest: [u8; BLOCK],
}

impl Default for Md5 {
    fn default() -> Self {
        let state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
        Self { state, length: 0, rest: [0; BLOCK] }
    }
}

impl Md5 {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        let blocks = self.blocks_of(bytes);
        compress_one(&mut self.state, blocks);
    }

    /// The hash of all bytes.
    pub fn finish(mut self) -> [u8; 16] {
        let bits = self.length.wrapping_mul(8);
        let used = self.rest_bytes();
        // A one, zeros, and the length in the last 8 bytes of a block.
        let padding = if used < 56 { 56 - used } else { 120 - used };
        let mut end = [0; 72];
        end[0] = 0x80;
        end[padding..padding + 8].copy_from_slice(&bits.to_le_bytes());
        self.update(&end[..padding + 8]);
        let mut hash = [0; 16];
        for (out, word) in hash.chunks_exact_mut(4).zip(self.state) {
            out.copy_from_slice(&word.to_le_bytes());
        }
        hash
    }

    fn rest_bytes(&self) -> usize {
        (self.length % BLOCK as u64) as usize
    }

    /// The complete blocks of the next bytes. Bytes before and after them go through `rest`.
    fn blocks_of<'a>(&mut self, bytes: &'a [u8]) -> &'a [[u8; BLOCK]] {
        let used = self.rest_bytes();
        self.length = self.length.wrapping_add(bytes.len() as u64);
        let mut bytes = bytes;
        if used > 0 {
            let (first, others) = bytes.split_at(bytes.len().min(BLOCK - used));
            self.rest[used..used + first.len()].copy_from_slice(first);
            bytes = others;
            if used + first.len() < BLOCK {
                return &[];
            }
            compress_one(&mut self.state, &[self.rest]);
        }
        let (blocks, rest) = bytes.as_chunks();
        self.rest[..rest.len()].copy_from_slice(rest);
        blocks
    }
}

/// Takes the next bytes of several streams.
pub fn update_together(streams: &mut [(Md5, Vec<Bytes>)]) {
    advance_all(streams.iter_mut().map(|(hash, chunks)| Lane::new(hash, chunks)).collect());
}

/// Hashes at most [`BODIES`] streams to their ends.
fn advance_all(mut lanes: Vec<Lane<'_>>) {
    loop {
        lanes.retain_mut(Lane::advance);
        match &mut *lanes {
            [] => return,
            [only] => {
                compress_one(&mut only.hash.state, only.blocks);
                only.blocks = &[];
            }
            several if several.len() <= LANES => compress_together::<u32x4, LANES>(several),
            several => compress_together::<u32x8, BODIES>(several),
        }
    }
}

/// The hash of each of several bodies.
pub fn md5_of_each(bodies: &[Bytes]) -> Vec<[u8; 16]> {
    let mut hashes = vec![Md5::default(); bodies.len()];
    for (hashes, bodies) in hashes.chunks_mut(BODIES).zip(bodies.chunks(BODIES)) {
        if bodies.len() < BODIES_MIN {
            hashes.iter_mut().zip(bodies).for_each(|(hash, body)| hash.update(body));
        } else {
            let lanes = hashes.iter_mut().zip(bodies.chunks(1)).map(|(hash, body)| Lane::new(hash, body));
            advance_all(lanes.collect());
        }
    }
    hashes.into_iter().map(Md5::finish).collect()
}

/// A stream that is being hashed.
struct Lane<'a> {
    hash: &'a mut Md5,
    chunks: std::slice::Iter<'a, Bytes>,
    blocks: &'a [[u8; BLOCK]],
}

impl<'a> Lane<'a> {
    fn new(hash: &'a mut Md5, chunks: &'a [Bytes]) -> Self {
        Self { hash, chunks: chunks.iter(), blocks: &[] }
    }

    /// Ensures that there are blocks; `false` at the end.
    fn advance(&mut self) -> bool {
        while self.blocks.is_empty() {
            let Some(chunk) = self.chunks.next() else { return false };
            self.blocks = self.hash.blocks_of(chunk);
        }
        true
    }
}

/// Hashes as many blocks of each lane as the shortest lane has.
fn compress_together<W: Vector<N>, const N: usize>(lanes: &mut [Lane<'_>]) {
    let count = lanes.iter().map(|lane| lane.blocks.len()).min().unwrap_or(0);
    // An unused lane repeats the first one.
    let blocks: [&[[u8; BLOCK]]; N] = std::array::from_fn(|lane| lanes.get(lane).unwrap_or(&lanes[0]).blocks);
    let mut state: [W; 4] = std::array::from_fn(|word| {
        W::of(std::array::from_fn(|lane| lanes.get(lane).map_or(0, |lane| lane.hash.state[word])))
    });
    for n in 0..count {
        let words = blocks.map(|blocks| words_of(&blocks[n]));
        let message = std::array::from_fn(|word| W::of(std::array::from_fn(|lane| words[lane][word])));
        rounds(&mut state, &message);
    }
    let state = state.map(W::words);
    for (number, lane) in lanes.iter_mut().enumerate() {
        lane.hash.state = state.map(|word| word[number]);
        lane.blocks = &lane.blocks[count..];
    }
}

fn compress_one(state: &mut [u32; 4], blocks: &[[u8; BLOCK]]) {
    let mut one = state.map(Word);
    for block in blocks {
        rounds(&mut one, &words_of(block).map(Word));
    }
    *state = one.map(|word| word.0);
}

fn words_of(block: &[u8; BLOCK]) -> [u32; 16] {
    let (words, _) = block.as_chunks::<4>();
    std::array::from_fn(|word| u32::from_le_bytes(words[word]))
}

/// One word of a stream, or the same word of several.
trait Words:
    Copy
    + Add<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
    fn all(word: u32) -> Self;
    fn rotate<const LEFT: u32>(self) -> Self;
}

impl Words for u32x4 {
    fn all(word: u32) -> Self {
        Self::splat(word)
    }

    #[inline(always)]
    fn rotate<const LEFT: u32>(self) -> Self {
        (self << LEFT) | (self >> (32 - LEFT))
    }
}

impl Words for u32x8 {
    fn all(word: u32) -> Self {
        Self::splat(word)
    }

    #[inline(always)]
    fn rotate<const LEFT: u32>(self) -> Self {
        (self << LEFT) | (self >> (32 - LEFT))
    }
}

/// The same word of `N` streams.
trait Vector<const N: usize>: Words {
    fn of(words: [u32; N]) -> Self;
    fn words(self) -> [u32; N];
}

impl Vector<LANES> for u32x4 {
    fn of(words: [u32; LANES]) -> Self {
        Self::new(words)
    }

    fn words(self) -> [u32; LANES] {
        self.to_array()
    }
}

impl Vector<BODIES> for u32x8 {
    fn of(words: [u32; BODIES]) -> Self {
        Self::new(words)
    }

    fn words(self) -> [u32; BODIES] {
        self.to_array()
    }
}

/// A word whose sums wrap around.
#[derive(Clone, Copy)]
struct Word(u32);

impl Words for Word {
    fn all(word: u32) -> Self {
        Self(word)
    }

    #[inline(always)]
    fn rotate<const LEFT: u32>(self) -> Self {
        Self(self.0.rotate_left(LEFT))
    }
}

impl Add for Word {
    type Output = Self;

    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

impl BitAnd for Word {
    type Output = Self;

    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for Word {
    type Output = Self;

    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitXor for Word {
    type Output = Self;

    #[inline(always)]
    fn bitxor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }
}

impl Not for Word {
    type Output = Self;

    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0)
    }
}

/// The four rounds of RFC 1321 on one block.
#[inline(always)]
fn rounds<W: Words>(state: &mut [W; 4], message: &[W; 16]) {
    let [mut a, mut b, mut c, mut d] = *state;
    // The parts of the second function have no bits in common, so they can be added one by one: the one that
    // depends on the previous step comes last.
    let first = |x: W, y: W, z: W, sum: W| sum + (z ^ (x & (y ^ z)));
    let second = |x: W, y: W, z: W, sum: W| sum + (y & !z) + (x & z);
    let third = |x: W, y: W, z: W, sum: W| sum + (x ^ (y ^ z));
    let fourth = |x: W, y: W, z: W, sum: W| sum + (y ^ (x | !z));
    macro_rules! step {
        ($function:ident, $a:ident, $b:ident, $c:ident, $d:ident, $word:expr, $number:expr, $left:literal) => {
            let sum = $a + (message[$word % 16] + W::all(SINES[$number]));
            $a = $function($b, $c, $d, sum).rotate::<$left>() + $b;
        };
    }
    macro_rules! round {
        ($function:ident, $from:literal, $stride:literal, $first:literal, $r:literal $s:literal $t:literal $u:literal: $($n:literal)*) => {
            $(
                step!($function, a, b, c, d, $first + $stride * $n, $from + $n, $r);
                step!($function, d, a, b, c, $first + $stride * ($n + 1), $from + $n + 1, $s);
                step!($function, c, d, a, b, $first + $stride * ($n + 2), $from + $n + 2, $t);
                step!($function, b, c, d, a, $first + $stride * ($n + 3), $from + $n + 3, $u);
            )*
        };
    }
    round!(first, 0, 1, 0, 7 12 17 22: 0 4 8 12);
    round!(second, 16, 5, 1, 5 9 14 20: 0 4 8 12);
    round!(third, 32, 3, 5, 4 11 16 23: 0 4 8 12);
    round!(fourth, 48, 7, 0, 6 10 15 21: 0 4 8 12);
    *state = [state[0] + a, state[1] + b, state[2] + c, state[3] + d];
}

/// The integer part of 2³² times the absolute value of the sine of each number from 1 to 64.
const SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

#[cfg(test)]
mod tests {
    use md5::Digest as _;
    use proptest::prelude::*;

    use super::*;

    fn expected(bytes: &[u8]) -> [u8; 16] {
        md5::Md5::digest(bytes).into()
    }

    #[test]
    fn every_length_around_a_block() {
        for length in 0..300 {
            let bytes: Vec<u8> = (0..length).map(|n| (n * 7) as u8).collect();
            let mut hash = Md5::default();
            hash.update(&bytes);
            assert_eq!(hash.finish(), expected(&bytes), "{length}");
        }
    }

    #[test]
    fn any_number_of_bodies_have_their_own_hashes() {
        for count in 0..10_usize {
            let bodies: Vec<Bytes> = (0..count).map(|n| vec![n as u8; 60 * n + 7].into()).collect();
            let hashes: Vec<_> = bodies.iter().map(|body| expected(body)).collect();
            assert_eq!(md5_of_each(&bodies), hashes);
        }
    }

    proptest! {
        /// Any number of streams in any chunks, some of them hashed before.
        #[test]
        fn streams_side_by_side_have_their_own_hashes(
            streams in proptest::collection::vec(proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..400), 0..5), 0..=LANES)
        ) {
            let mut together: Vec<(Md5, Vec<Bytes>)> = Vec::new();
            for chunks in &streams {
                let mut hash = Md5::default();
                let (first, others) = chunks.split_at(chunks.len() / 2);
                first.iter().for_each(|chunk| hash.update(chunk));
                together.push((hash, others.iter().map(|chunk| Bytes::from(chunk.clone())).collect()));
            }
            update_together(&mut together);
            for ((hash, _), chunks) in together.into_iter().zip(&streams) {
                prop_assert_eq!(hash.finish(), expected(&chunks.concat()));
            }
        }
    }
}
