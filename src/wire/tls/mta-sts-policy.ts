/**
 * The texts of MTA-STS (RFC 8461): the TXT record that announces a policy, and the policy file.
 *
 * Pure functions. What is not a valid record or policy gives null: senders then act as if there were none.
 */

export interface StsPolicy {
  mode: 'enforce' | 'testing' | 'none';
  /** Lower-case host names; `*.example.com` matches exactly one more label. */
  mxPatterns: string[];
  maxAgeSeconds: number;
}

/** RFC 8461 section 3.2: a year and a day. */
const MAX_AGE_SECONDS = 31_557_600;
const MX_PATTERN = /^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)+$/;

/** The policy's id from the TXT records of `_mta-sts.<domain>`; null without exactly one record (section 3.1). */
export function readStsRecord(records: readonly string[]): string | null {
  const ours = records.filter((text) => /^v=STSv1[ \t]*;/.test(text));
  if (ours.length !== 1) return null;
  return /;[ \t]*id=([A-Za-z0-9]{1,32})[ \t]*(;|$)/.exec(ours[0] ?? '')?.[1] ?? null;
}

/** Reads a policy file (section 3.2). Unknown fields are ignored; of a repeated one the first counts. */
export function parseStsPolicy(text: string): StsPolicy | null {
  const fields = new Map<string, string>();
  const mxPatterns: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon < 0) continue;
    const name = line.slice(0, colon).trim();
    const value = line.slice(colon + 1).trim();
    if (name === 'mx') mxPatterns.push(value.toLowerCase().replace(/\.$/, ''));
    else if (!fields.has(name)) fields.set(name, value);
  }
  const mode = fields.get('mode');
  const maxAge = fields.get('max_age') ?? '';
  if (fields.get('version') !== 'STSv1' || !/^\d{1,10}$/.test(maxAge)) return null;
  if (mode !== 'enforce' && mode !== 'testing' && mode !== 'none') return null;
  if (!mxPatterns.every((pattern) => MX_PATTERN.test(pattern))) return null;
  if (mode !== 'none' && mxPatterns.length === 0) return null;
  const maxAgeSeconds = Math.min(Number(maxAge), MAX_AGE_SECONDS);
  return { mode, mxPatterns: Array.from(new Set(mxPatterns)), maxAgeSeconds };
}

/** Whether `value`, read back from where it was kept, is a policy. */
export function isStsPolicy(value: unknown): value is StsPolicy {
  if (typeof value !== 'object' || value === null) return false;
  if (!('mode' in value && 'mxPatterns' in value && 'maxAgeSeconds' in value)) return false;
  const { mode, mxPatterns, maxAgeSeconds } = value;
  return (
    (mode === 'enforce' || mode === 'testing' || mode === 'none') &&
    Array.isArray(mxPatterns) &&
    mxPatterns.every((pattern) => typeof pattern === 'string') &&
    typeof maxAgeSeconds === 'number'
  );
}

/** Whether the policy lets mail go to this MX host (section 4.1; lower case, no closing dot). */
export function allowsMx(policy: StsPolicy, host: string): boolean {
  const parent = host.slice(host.indexOf('.') + 1);
  return policy.mxPatterns.some((pattern) =>
    pattern.startsWith('*.') ? pattern.slice(2) === parent : pattern === host,
  );
}
