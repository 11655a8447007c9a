// HMAC-SHA256 and SHA-256 in plain JavaScript, for pages without WebCrypto: browsers offer it only on https and loopback,
// and a console in a private network is often on neither. Secrets stay in this page in both cases.

const K = new Uint32Array(64);
const INITIAL = new Uint32Array(8);

// The constants are the fractions of the roots of the first primes; computing them needs no table to mistype.
(() => {
  const fraction = (/** @type {number} */ root) => ((root - Math.floor(root)) * 0x100000000) >>> 0;
  let count = 0;
  for (let candidate = 2; count < 64; candidate += 1) {
    let prime = true;
    for (let by = 2; by * by <= candidate; by += 1) if (candidate % by === 0) prime = false;
    if (!prime) continue;
    if (count < 8) INITIAL[count] = fraction(Math.sqrt(candidate));
    K[count] = fraction(Math.cbrt(candidate));
    count += 1;
  }
})();

/**
 * @param {Uint8Array} bytes
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function sha256(bytes) {
  const blocks = Math.ceil((bytes.length + 9) / 64);
  const padded = new Uint8Array(blocks * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 0x20000000));
  view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
  const state = INITIAL.slice();
  for (let block = 0; block < blocks; block += 1) compress(state, view, block * 64);
  const out = new Uint8Array(32);
  const outView = new DataView(out.buffer);
  state.forEach((word, index) => outView.setUint32(index * 4, word));
  return out;
}

const schedule = new Uint32Array(64);

/**
 * @param {Uint32Array} state
 * @param {DataView} view
 * @param {number} offset
 */
function compress(state, view, offset) {
  const at = (/** @type {number} */ index) => schedule[index] ?? 0;
  const turn = (/** @type {number} */ x, /** @type {number} */ by) => (x >>> by) | (x << (32 - by));
  for (let i = 0; i < 16; i += 1) schedule[i] = view.getUint32(offset + i * 4);
  for (let i = 16; i < 64; i += 1) {
    const s0 = turn(at(i - 15), 7) ^ turn(at(i - 15), 18) ^ (at(i - 15) >>> 3);
    const s1 = turn(at(i - 2), 17) ^ turn(at(i - 2), 19) ^ (at(i - 2) >>> 10);
    schedule[i] = at(i - 16) + s0 + at(i - 7) + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, hh = 0] = state;
  for (let i = 0; i < 64; i += 1) {
    const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25);
    const t1 = (hh + s1 + ((e & f) ^ (~e & g)) + (K[i] ?? 0) + at(i)) | 0;
    const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [hh, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  [a, b, c, d, e, f, g, hh].forEach((word, index) => {
    state[index] = (state[index] ?? 0) + word;
  });
}

/**
 * @param {Uint8Array} key
 * @param {Uint8Array} message
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function hmac(key, message) {
  const short = key.length > 64 ? sha256(key) : key;
  const padded = (/** @type {number} */ by) => {
    const block = new Uint8Array(64).fill(by);
    short.forEach((byte, index) => {
      block[index] = byte ^ by;
    });
    return block;
  };
  return sha256(concat(padded(0x5c), sha256(concat(padded(0x36), message))));
}

/**
 * @param {Uint8Array} first
 * @param {Uint8Array} second
 */
function concat(first, second) {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
