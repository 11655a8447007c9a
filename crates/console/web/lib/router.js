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

/**
 * The order of a list in a link: `sort=name`, or `sort=-name` for the reverse.
 * @param {URLSearchParams} query
 * @param {string} [usual]
 */
export function sortOf(query, usual) {
  const given = query.get('sort') ?? usual;
  return { sortKey: given?.replace(/^-/, ''), descending: given?.startsWith('-') ?? false };
}

/**
 * @param {string} key
 * @param {boolean} isDescending
 */
export function sortText(key, isDescending) {
  return `${isDescending ? '-' : ''}${key}`;
}
