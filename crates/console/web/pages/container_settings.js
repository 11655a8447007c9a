// Settings of a container: public access, metadata, leases.

import { button, field, h, select } from '../lib/dom.js';
import { containerState, setContainerMetadata, setPublicAccess } from '../lib/blobs.js';
import { lease } from '../lib/blob.js';
import { time } from '../lib/format.js';
import { currentSettings } from '../lib/state.js';
import { dialog, form } from '../ui/dialog.js';
import { attempt, toast } from '../ui/feedback.js';
import { facts, pairs } from '../ui/parts.js';
import { ACCESS } from './containers.js';

/**
 * @param {import('../lib/client.js').Account} account
 * @param {string} container
 */
export async function containerSettings(account, container) {
  const state = await containerState(account, container);
  const known = facts([['Modified', time(state.modified)], ['Lease', state.lease]]);
  if (currentSettings().readOnly) {
    await dialog(`Container ${container}`, () => ({ body: [known, facts([['Public access', state.access], ...Object.entries(state.metadata)])] }));
    return;
  }
  const access = select(ACCESS, state.access);
  const metadata = pairs(state.metadata);
  const breakLease = state.lease === 'leased'
    ? button({ label: 'Break lease', kind: 'danger', onclick: () => attempt(async () => { await lease(account, `/${container}`, 'break', { restype: 'container' }); toast('Lease broken'); }) })
    : null;
  await form(`Container ${container}`, {
    label: 'Save', body: [known, breakLease, field('Public access', access), h('h3', {}, 'Metadata'), metadata.element],
    submit: async () => {
      if (access.value !== state.access) await setPublicAccess(account, container, access.value);
      await setContainerMetadata(account, container, metadata.read());
      toast('Container settings saved');
    },
  });
}
