// Asks before blobs are replaced by an upload or a copy.

import { plural } from '../lib/format.js';
import { confirm } from '../ui/dialog.js';

/** Names that a dialog shows; the others are counted. */
const NAMES_MAX = 5;

/**
 * @param {string} container
 * @param {string[]} names
 */
export function confirmReplacing(container, names) {
  const what = plural(names.length, 'blob');
  const rest = names.length - NAMES_MAX;
  const named = `${names.slice(0, NAMES_MAX).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  const [verb, their] = names.length === 1 ? ['exists', 'Its'] : ['exist', 'Their'];
  return confirm('Replace blobs', `${what} of ${container} ${verb} already: ${named}. ${their} content will be lost, unless versions are kept.`, `Replace ${what}`);
}
