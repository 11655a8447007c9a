// The XML of the Blob and Queue services. It is parsed as XML, which runs no scripts, and is never inserted into the page.

/** @typedef {{createHTML: (text: string) => string}} Policy */

const types = /** @type {{createPolicy: (name: string, rules: Policy) => Policy} | undefined} */ (
  /** @type {any} */ (globalThis).trustedTypes
);
const policy = types?.createPolicy('lazuli-xml', { createHTML: (text) => text });

/**
 * @param {string} text
 * @returns {Element}
 */
export function parseXml(text) {
  const body = text.replace(/^\uFEFF/, '');
  const document = new DOMParser().parseFromString(policy ? policy.createHTML(body) : body, 'application/xml');
  const root = document.documentElement;
  if (!root || root.getElementsByTagName('parsererror').length > 0 || root.tagName === 'parsererror') {
    throw new Error('The service sent XML that cannot be read.');
  }
  return root;
}

/**
 * The first child with a name.
 * @param {Element | undefined | null} element
 * @param {string} name
 */
export function child(element, name) {
  for (const found of element?.children ?? []) if (found.tagName === name) return found;
  return undefined;
}

/**
 * The text of a child; empty if there is none.
 * @param {Element | undefined | null} element
 * @param {...string} path
 */
export function text(element, ...path) {
  /** @type {Element | undefined | null} */
  let found = element;
  for (const name of path) found = child(found, name);
  return found?.textContent ?? '';
}

/**
 * @param {Element | undefined | null} element
 * @param {string} name
 */
export function children(element, name) {
  return [...(element?.children ?? [])].filter((found) => found.tagName === name);
}

/** @param {string} value */
export function escapeXml(value) {
  return value.replace(/[&<>"]/g, (char) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[char] ?? char);
}
