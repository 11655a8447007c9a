// Deep links. Everything lies behind the `#`, so the page works below any prefix: #/account/tables/People?filter=…

/** @typedef {{path: string[], query: URLSearchParams}} Route */
/** @typedef {() => void} Leave */

/** @returns {Route} */
export function currentRoute() {
  const hash = location.hash.replace(/^#\/?/, '');
  const [path = '', query = ''] = hash.split(/\?(.*)/s);
  return { path: path.split('/').filter(Boolean).map(decode), query: new URLSearchParams(query) };
}

/** @param {string} segment */
function decode(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/**
 * @param {string[]} path
 * @param {Record<string, string | undefined>} [query]
 */
export function linkTo(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const search = new URLSearchParams(/** @type {[string, string][]} */ (given)).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${search ? `?${search}` : ''}`;
}

/**
 * @param {string[]} path
 * @param {Record<string, string | undefined>} [query]
 */
export function go(path, query) {
  location.hash = linkTo(path, query);
}

/**
 * Changes the link of the view that is shown, without showing another.
 * @param {string[]} path
 * @param {Record<string, string | undefined>} [query]
 */
export function relink(path, query) {
  history.replaceState(null, '', linkTo(path, query));
}
