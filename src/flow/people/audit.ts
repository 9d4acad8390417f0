/**
 * The audit log: who changed what, when and from where; on the dashboard, by a command or with an API key.
 *
 * Promises that an entry follows a change that is on disk, and holds no secret, no content and no whole mail address:
 * only facts of a fixed list of names, cut to a length. A crash between a change and its entry loses the entry. Never
 * fails: what cannot be written is logged.
 */
import type { AuditEntry } from '../../store/people.ts';
import type { Context } from '../context.ts';

/** What may be told of a change, by the names of forms, arguments and bodies. */
const TOLD = [
  'id',
  'name',
  'account',
  'domain',
  'plan',
  'role',
  'email',
  'url',
  'status',
  'permission',
];
const FACT_MAX = 100;
const TARGET_MAX = 400;

export interface Change extends Pick<
  AuditEntry,
  'via' | 'who' | 'action' | 'accountId' | 'address'
> {
  /** What it was done with; of these only some names are told. */
  facts: Readonly<Record<string, unknown>>;
}

/** Adds an entry for a change that was committed. Resolves when it is on disk, or logged as lost. */
export async function audit(
  { store, clock, log }: Pick<Context, 'store' | 'clock' | 'log'>,
  { facts, who, ...change }: Change,
): Promise<void> {
  try {
    await store.addAudit({
      ...change,
      who: who.slice(0, FACT_MAX),
      at: clock.now(),
      target: targetOf(facts),
    });
  } catch (error) {
    log.error('audit_lost', {
      action: change.action,
      error,
      hint: 'The change was made, its entry in the audit log was not. Free space on the disk if it is full.',
    });
  }
}

function targetOf(facts: Readonly<Record<string, unknown>>): string {
  const told = TOLD.flatMap((name) => {
    const value = facts[name];
    return typeof value === 'string' && value !== '' ? [`${name}=${shown(name, value)}`] : [];
  });
  return told.join(' ').slice(0, TARGET_MAX);
}

/** A mail address without its person, a URL without its path: either may be what nobody else shall know. */
function shown(name: string, value: string): string {
  if (name === 'url') return URL.parse(value)?.origin ?? '?';
  // Begins only where a run of such characters does: otherwise it would be searched from each of them.
  const text = value.replaceAll(/(?<![^@\s<>"])[^@\s<>"]+@(?=[^@\s])/g, '…@');
  return text.slice(0, FACT_MAX);
}
