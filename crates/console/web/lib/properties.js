// Service properties and stored access policies.

import { child, children, escapeXml, parseXml, text } from './xml.js';

/** @typedef {import('./client.js').Account} Account */
/** @typedef {import('./sign.js').ServiceName} ServiceName */
/** @typedef {{origins: string, methods: string, headers: string, exposed: string, age: string}} CorsRule */
/** @typedef {{id: string, start: string, end: string, permissions: string}} Policy */

const SERVICE = { restype: 'service', comp: 'properties' };
/** Policies that a resource may have. */
export const POLICIES_MAX = 5;

/** `Hour` and `Minute` are kinds of metrics, `Read`, `Write` and `Delete` those of logs; 0 days means no limit.
 * @typedef {{logged: string[], logVersion: string, logDays: number, metrics: string[], metricsDays: number}} Monitoring */
/** @typedef {Monitoring & {version: string, softDeleteDays: number, cors: CorsRule[]}} ServiceSettings */

/** @param {Element | undefined} element */
function daysOf(element) {
  return text(element, 'RetentionPolicy', 'Enabled') === 'true' ? Number(text(element, 'RetentionPolicy', 'Days')) : 0;
}

/**
 * @param {Account} account
 * @param {ServiceName} service
 * @returns {Promise<ServiceSettings>}
 */
export async function serviceProperties(account, service) {
  const root = await account.xml(service, 'GET', '/', { query: SERVICE });
  const retention = child(root, 'DeleteRetentionPolicy');
  return {
    version: text(root, 'DefaultServiceVersion'),
    logged: ['Read', 'Write', 'Delete'].filter((kind) => text(root, 'Logging', kind) === 'true'),
    logVersion: text(root, 'Logging', 'Version') || '1.0',
    logDays: daysOf(child(root, 'Logging')),
    metrics: ['Hour', 'Minute'].filter((kind) => text(root, `${kind}Metrics`, 'Enabled') === 'true'),
    metricsDays: Math.max(daysOf(child(root, 'HourMetrics')), daysOf(child(root, 'MinuteMetrics'))),
    softDeleteDays: text(retention, 'Enabled') === 'true' ? Number(text(retention, 'Days')) : 0,
    cors: children(child(root, 'Cors'), 'CorsRule').map((rule) => ({
      origins: text(rule, 'AllowedOrigins'), methods: text(rule, 'AllowedMethods'), headers: text(rule, 'AllowedHeaders'), exposed: text(rule, 'ExposedHeaders'), age: text(rule, 'MaxAgeInSeconds'),
    })),
  };
}

/**
 * @param {Account} account
 * @param {ServiceName} service
 * @param {string} content elements of the properties; others stay as they are
 */
function setProperties(account, service, content) {
  const body = `<?xml version="1.0" encoding="utf-8"?><StorageServiceProperties>${content}</StorageServiceProperties>`;
  return account.request(service, 'PUT', '/', { query: SERVICE, headers: { 'content-type': 'application/xml' }, body });
}

/**
 * @param {Account} account
 * @param {ServiceName} service
 * @param {CorsRule[]} rules
 */
export function setCors(account, service, rules) {
  const element = (/** @type {string} */ name, /** @type {string} */ value) => `<${name}>${escapeXml(value)}</${name}>`;
  const content = rules.map((rule) => `<CorsRule>${element('AllowedOrigins', rule.origins)}${element('AllowedMethods', rule.methods)}${element('AllowedHeaders', rule.headers)}${element('ExposedHeaders', rule.exposed)}${element('MaxAgeInSeconds', rule.age)}</CorsRule>`);
  return setProperties(account, service, `<Cors>${content.join('')}</Cors>`);
}

/**
 * @param {Account} account
 * @param {number} days 0 turns soft delete off
 */
export function setSoftDelete(account, days) {
  return setProperties(account, 'blob', `<DeleteRetentionPolicy><Enabled>${days > 0}</Enabled>${days > 0 ? `<Days>${days}</Days>` : ''}</DeleteRetentionPolicy>`);
}

/**
 * @param {Account} account
 * @param {ServiceName} service
 * @param {Monitoring} wanted
 */
export function setMonitoring(account, service, wanted) {
  const kept = (/** @type {number} */ days) => `<RetentionPolicy><Enabled>${days > 0}</Enabled>${days > 0 ? `<Days>${days}</Days>` : ''}</RetentionPolicy>`;
  const logs = ['Delete', 'Read', 'Write'].map((kind) => `<${kind}>${wanted.logged.includes(kind)}</${kind}>`).join('');
  const metrics = ['Hour', 'Minute'].map((kind) => {
    const isOn = wanted.metrics.includes(kind);
    return `<${kind}Metrics><Version>1.0</Version><Enabled>${isOn}</Enabled>${isOn ? '<IncludeAPIs>true</IncludeAPIs>' : ''}${kept(isOn ? wanted.metricsDays : 0)}</${kind}Metrics>`;
  });
  return setProperties(account, service, `<Logging><Version>${wanted.logVersion}</Version>${logs}${kept(wanted.logged.length ? wanted.logDays : 0)}</Logging>${metrics.join('')}`);
}

/** @param {ServiceName} service */
function policyQuery(service) {
  return service === 'blob' ? { restype: 'container', comp: 'acl' } : { comp: 'acl' };
}

/**
 * @param {Account} account
 * @param {ServiceName} service
 * @param {string} name
 */
export async function getPolicies(account, service, name) {
  const response = await account.request(service, 'GET', `/${name}`, { query: policyQuery(service) });
  const root = parseXml(await response.text());
  /** @type {Policy[]} */
  const policies = children(root, 'SignedIdentifier').map((entry) => {
    const policy = child(entry, 'AccessPolicy');
    return { id: text(entry, 'Id'), start: text(policy, 'Start'), end: text(policy, 'Expiry'), permissions: text(policy, 'Permission') };
  });
  return { policies, access: response.headers.get('x-ms-blob-public-access') ?? undefined };
}

/**
 * @param {Account} account
 * @param {ServiceName} service
 * @param {string} name
 * @param {Policy[]} policies
 * @param {string | undefined} access the public access of a container, which is set at the same time
 */
export function setPolicies(account, service, name, policies, access) {
  const optional = (/** @type {string} */ tag, /** @type {string} */ value) => (value ? `<${tag}>${escapeXml(value)}</${tag}>` : '');
  const entries = policies.map((policy) => `<SignedIdentifier><Id>${escapeXml(policy.id)}</Id><AccessPolicy>${optional('Start', policy.start)}${optional('Expiry', policy.end)}${optional('Permission', policy.permissions)}</AccessPolicy></SignedIdentifier>`);
  const body = `<?xml version="1.0" encoding="utf-8"?><SignedIdentifiers>${entries.join('')}</SignedIdentifiers>`;
  return account.request(service, 'PUT', `/${name}`, { query: policyQuery(service), headers: { 'content-type': 'application/xml', 'x-ms-blob-public-access': access }, body });
}
