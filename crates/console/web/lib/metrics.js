// The text format of Prometheus, as far as the health page needs it.

/** @typedef {{labels: Record<string, string>, value: number}} Sample */

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/**
 * @param {string} text
 * @returns {Map<string, Sample[]>}
 */
export function parseMetrics(text) {
  /** @type {Map<string, Sample[]>} */
  const families = new Map();
  for (const line of text.split('\n')) {
    const found = line.startsWith('#') ? null : LINE.exec(line);
    if (!found) continue;
    const [, name = '', labelText = '', value = ''] = found;
    /** @type {Record<string, string>} */
    const labels = {};
    for (const [, label = '', content = ''] of labelText.matchAll(LABEL)) labels[label] = content.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char));
    families.set(name, [...(families.get(name) ?? []), { labels, value: value === '+Inf' ? Infinity : Number(value) }]);
  }
  return families;
}

/**
 * The sum of a family, for samples that have these labels.
 * @param {Map<string, Sample[]>} families
 * @param {string} name
 * @param {Record<string, string>} [labels]
 */
export function sum(families, name, labels = {}) {
  const wanted = Object.entries(labels);
  return (families.get(name) ?? []).filter((sample) => wanted.every(([key, value]) => sample.labels[key] === value)).reduce((total, sample) => total + sample.value, 0);
}

/**
 * A quantile of a histogram's buckets, interpolated.
 * @param {Sample[]} buckets with the label `le`
 * @param {number} q
 */
export function quantile(buckets, q) {
  const sorted = buckets.map((bucket) => ({ bound: bucket.labels.le === '+Inf' ? Infinity : Number(bucket.labels.le), count: bucket.value })).sort((a, b) => a.bound - b.bound);
  const total = sorted.at(-1)?.count ?? 0;
  if (total === 0) return NaN;
  const rank = q * total;
  let [below, bound] = [0, 0];
  for (const bucket of sorted) {
    if (bucket.count >= rank) {
      if (bucket.bound === Infinity) return bound;
      const share = bucket.count === below ? 1 : (rank - below) / (bucket.count - below);
      return bound + (bucket.bound - bound) * share;
    }
    [below, bound] = [bucket.count, bucket.bound];
  }
  return bound;
}
