// Numbers, sizes and times as people read them.

/** @param {number} bytes */
export function size(bytes) {
  if (!Number.isFinite(bytes)) return '';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 });

/** @param {number} value */
export function number(value) {
  return grouped.format(value);
}

/**
 * @param {number} count
 * @param {string} one
 * @param {string} [many]
 */
export function plural(count, one, many) {
  return `${number(count)} ${count === 1 ? one : (many ?? `${one}s`)}`;
}

/**
 * A number of which only the start was counted.
 * @param {{count: number, isMore: boolean}} counted
 * @param {string} one
 * @param {string} [many]
 */
export function counted({ count, isMore }, one, many) {
  return `${isMore ? 'more than ' : ''}${plural(count, one, many)}`;
}

/**
 * A time of a service, in the user's time zone.
 * @param {string | number | Date | undefined} value
 */
export function time(value) {
  if (value === undefined || value === '') return '';
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return String(value);
  const two = (/** @type {number} */ part) => String(part).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/**
 * A time for a narrow column: the day, or the time of today.
 * @param {string} value
 */
export function shortTime(value) {
  const [day = '', clock = ''] = time(value).split(' ');
  return day === time(Date.now()).split(' ')[0] ? clock : day;
}

/** @param {number} micros */
export function micros(micros) {
  if (micros < 1000) return `${Math.round(micros)} µs`;
  if (micros < 1_000_000) return `${(micros / 1000).toFixed(micros < 10_000 ? 2 : 1)} ms`;
  return `${(micros / 1_000_000).toFixed(2)} s`;
}

/** @param {number} seconds */
export function duration(seconds) {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${Math.round((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.round((seconds % 86_400) / 3600)} h`;
}

/**
 * A pattern with `*` and `?` as a test of whole names.
 * @param {string} pattern
 */
export function glob(pattern) {
  const source = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&').replace(/\*+/g, '.*').replace(/\?/g, '.');
  return new RegExp(`^${source}$`, 'is');
}
