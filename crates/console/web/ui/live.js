// Live numbers: asked for while the page is visible and the view is shown, and not otherwise.

import { h } from '../lib/dom.js';
import { isCancelled } from './feedback.js';

/**
 * Calls `work` again and again until the returned function is called. Hidden pages do not ask.
 * @param {number} milliseconds
 * @param {(signal: AbortSignal) => Promise<void>} work
 * @param {(error: unknown) => void} report gets the error of the last call, or `undefined` when all is well again
 * @returns {() => void}
 */
export function poll(milliseconds, work, report) {
  const abort = new AbortController();
  let isBusy = false;
  const step = async () => {
    if (document.hidden || isBusy) return;
    isBusy = true;
    try {
      await work(abort.signal);
      report(undefined);
    } catch (error) {
      // The next round tries again.
      if (!isCancelled(error)) report(error);
    } finally {
      isBusy = false;
    }
  };
  const timer = setInterval(step, milliseconds);
  return () => {
    clearInterval(timer);
    abort.abort();
  };
}

/** Readings that a rate is computed from: a few, so that it neither jumps nor lags. */
const RATE_READINGS = 6;
const RATE_SECONDS_MIN = 0.5;

/** Rates of counters that only grow, over their last readings. */
export class Rates {
  /** @type {Array<{at: number, values: number[]}>} */
  #readings = [];

  /**
   * Adds a reading; returns the changes per second, or `undefined` as long as there is nothing to compare with.
   * @param {number[]} values
   * @returns {number[] | undefined}
   */
  add(values) {
    const last = this.#readings.at(-1);
    // Counters start from zero when the server does, or when the counted object is created again.
    if (last?.values.some((value, index) => value > (values[index] ?? 0))) this.#readings = [];
    const now = performance.now();
    this.#readings.push({ at: now, values });
    if (this.#readings.length > RATE_READINGS) this.#readings.shift();
    const [first] = this.#readings;
    const seconds = first ? (now - first.at) / 1000 : 0;
    if (!first || seconds < RATE_SECONDS_MIN) return undefined;
    return values.map((value, index) => (value - (first.values[index] ?? 0)) / seconds);
  }
}

const SVG = 'http://www.w3.org/2000/svg';
const POINTS_MAX = 90;
const WIDTH = 240;
const HEIGHT = 32;

/** A small line of recent values. */
export class Sparkline {
  /** @type {Array<{at: number, value: number}>} */
  #points = [];

  /** @param {string} label */
  constructor(label) {
    this.svg = document.createElementNS(SVG, 'svg');
    this.svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`);
    this.svg.setAttribute('class', 'spark');
    this.svg.setAttribute('role', 'img');
    this.svg.setAttribute('aria-label', label);
    this.area = document.createElementNS(SVG, 'path');
    this.area.setAttribute('class', 'area');
    this.line = document.createElementNS(SVG, 'path');
    this.svg.append(this.area, this.line);
    this.element = h('span', {}, this.svg);
  }

  /**
   * Adds a value; returns the change per second over the last few.
   * @param {number} value
   */
  add(value) {
    const now = performance.now();
    this.#points.push({ at: now, value });
    if (this.#points.length > POINTS_MAX) this.#points.shift();
    this.#draw();
    const before = this.#points.at(-6) ?? this.#points[0];
    const seconds = before ? (now - before.at) / 1000 : 0;
    return before && seconds > 0.5 ? (value - before.value) / seconds : 0;
  }

  #draw() {
    const values = this.#points.map((point) => point.value);
    const most = Math.max(1, ...values);
    const step = WIDTH / (POINTS_MAX - 1);
    const start = WIDTH - (values.length - 1) * step;
    const path = values.map((value, index) => `${index ? 'L' : 'M'}${(start + index * step).toFixed(1)} ${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`);
    this.line.setAttribute('d', path.join(''));
    this.area.setAttribute('d', `${path.join('')}L${WIDTH} ${HEIGHT}L${start.toFixed(1)} ${HEIGHT}Z`);
  }
}
