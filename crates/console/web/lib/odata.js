// The `$filter` language, as far as an editor needs it: tokens, mistakes with their position, and completion.

/** @typedef {{kind: 'name' | 'operator' | 'logic' | 'literal' | 'open' | 'close', text: string, start: number, end: number}} Token */
/** @typedef {{message: string, at: number}} Mistake */

const COMPARISONS = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'];
const PATTERNS = [
  /^(?:datetime|guid|X|binary)?'(?:[^']|'')*'/,
  /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[lLdDfF]?(?![\w])/,
  /^[\p{L}_][\p{L}\p{N}_]*/u,
];

/**
 * @param {string} filter
 * @returns {{tokens: Token[], mistake?: Mistake}}
 */
export function tokenize(filter) {
  /** @type {Token[]} */
  const tokens = [];
  let at = 0;
  while (at < filter.length) {
    const char = filter[at] ?? '';
    if (/\s/.test(char)) {
      at += 1;
      continue;
    }
    if (char === '(' || char === ')') {
      tokens.push({ kind: char === '(' ? 'open' : 'close', text: char, start: at, end: at + 1 });
      at += 1;
      continue;
    }
    const rest = filter.slice(at);
    const found = PATTERNS.map((pattern) => pattern.exec(rest)?.[0]).find((text) => text !== undefined);
    if (found === undefined) {
      const message = /^\w*'/.test(rest) ? 'This string has no closing quote.' : `“${char}” does not belong here.`;
      return { tokens, mistake: { message, at } };
    }
    tokens.push({ kind: kindOf(found), text: found, start: at, end: at + found.length });
    at += found.length;
  }
  return { tokens };
}

/**
 * @param {string} text
 * @returns {Token['kind']}
 */
function kindOf(text) {
  if (/['\d]/.test(text[text.length - 1] ?? '') && /^(-?\d|'|datetime'|guid'|X'|binary')/.test(text)) return 'literal';
  if (/^-?\d/.test(text)) return 'literal';
  const word = text.toLowerCase();
  if (COMPARISONS.includes(word)) return 'operator';
  if (word === 'and' || word === 'or' || word === 'not') return 'logic';
  if (word === 'true' || word === 'false') return 'literal';
  return 'name';
}

/**
 * The first mistake in a filter, if there is one. The service has the last word; this is for typing.
 * @param {string} filter
 * @returns {Mistake | undefined}
 */
export function check(filter) {
  const { tokens, mistake } = tokenize(filter);
  if (mistake) return mistake;
  if (tokens.length === 0) return undefined;
  const parser = new Parser(tokens, filter.length);
  return parser.parse();
}

/** A recursive descent over the tokens that keeps only the first mistake. */
class Parser {
  #at = 0;
  /** @type {Mistake | undefined} */
  #mistake;

  /**
   * @param {Token[]} tokens
   * @param {number} end
   */
  constructor(tokens, end) {
    this.tokens = tokens;
    this.end = end;
  }

  parse() {
    this.#expression();
    const rest = this.tokens[this.#at];
    if (rest && !this.#mistake) this.#fail(`Expected “and” or “or” before “${rest.text}”.`);
    return this.#mistake;
  }

  /** @param {string} message */
  #fail(message) {
    this.#mistake ??= { message, at: this.tokens[this.#at]?.start ?? this.end };
  }

  #expression() {
    this.#term();
    while (!this.#mistake && this.#is('logic') && this.#text() !== 'not') {
      this.#at += 1;
      this.#term();
    }
  }

  /** @returns {void} */
  #term() {
    if (this.#is('logic') && this.#text() === 'not') {
      this.#at += 1;
      return this.#term();
    }
    if (this.#is('open')) {
      this.#at += 1;
      this.#expression();
      if (this.#mistake) return undefined;
      if (!this.#is('close')) return this.#fail('A closing parenthesis is missing.');
      this.#at += 1;
      return undefined;
    }
    return this.#comparison();
  }

  #comparison() {
    const left = this.tokens[this.#at];
    if (!left || (left.kind !== 'name' && left.kind !== 'literal')) return this.#fail('Expected a property name.');
    this.#at += 1;
    if (!this.#is('operator')) {
      const isAlone = !this.tokens[this.#at] || this.#is('close') || this.#is('logic');
      if (isAlone && this.tokens[this.#at] && left.kind === 'name') return undefined; // a Boolean property
      return this.#fail(`Expected a comparison: ${COMPARISONS.join(', ')}.`);
    }
    this.#at += 1;
    const right = this.tokens[this.#at];
    if (!right || (right.kind !== 'literal' && right.kind !== 'name')) {
      return this.#fail('Expected a value: \'text\', 42, 42L, true, datetime\'…\', guid\'…\'.');
    }
    if (left.kind === 'name' && right.kind === 'name') return this.#fail('A string needs quotes: \'text\'.');
    this.#at += 1;
    return undefined;
  }

  /** @param {Token['kind']} kind */
  #is(kind) {
    return this.tokens[this.#at]?.kind === kind;
  }

  #text() {
    return this.tokens[this.#at]?.text.toLowerCase() ?? '';
  }
}

/**
 * What could be typed at a position, and from where it would replace.
 * @param {string} filter
 * @param {number} caret
 * @param {string[]} properties
 * @returns {{from: number, options: string[]}}
 */
export function complete(filter, caret, properties) {
  const before = filter.slice(0, caret);
  const { tokens, mistake } = tokenize(before);
  if (mistake) return { from: caret, options: [] };
  const last = tokens.at(-1);
  const isTyping = last !== undefined && last.end === caret && (last.kind === 'name' || last.kind === 'operator' || last.kind === 'logic');
  const typed = isTyping ? last.text.toLowerCase() : '';
  const previous = isTyping ? tokens.at(-2) : last;
  /** @type {string[]} */
  let options;
  if (!previous || previous.kind === 'logic' || previous.kind === 'open') options = [...properties, 'not'];
  else if (previous.kind === 'name') options = tokens.at(isTyping ? -3 : -2)?.kind === 'operator' ? ['and', 'or'] : COMPARISONS;
  else if (previous.kind === 'operator') options = ['true', 'false', "datetime'", "guid'"];
  else options = ['and', 'or'];
  const from = isTyping ? last.start : caret;
  const matching = options.filter((option) => option.toLowerCase().includes(typed) && option.toLowerCase() !== typed);
  return { from, options: matching.sort((a, b) => Number(b.toLowerCase().startsWith(typed)) - Number(a.toLowerCase().startsWith(typed))).slice(0, 8) };
}

/** @param {string} value */
export function quote(value) {
  return `'${value.replaceAll("'", "''")}'`;
}

/**
 * A literal of a type.
 * @param {import('./edm.js').EdmValue} value
 */
export function literal({ type, text }) {
  switch (type) {
    case 'Edm.Int64': return `${text}L`;
    case 'Edm.Int32': case 'Edm.Double': case 'Edm.Boolean': return text;
    case 'Edm.DateTime': return `datetime'${text}'`;
    case 'Edm.Guid': return `guid'${text}'`;
    case 'Edm.Binary': return `X'${[...atob(text)].map((char) => char.charCodeAt(0).toString(16).padStart(2, '0')).join('')}'`;
    default: return quote(text);
  }
}
