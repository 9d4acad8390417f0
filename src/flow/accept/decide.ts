/**
 * The decision about each draft: may this account send this, and to whom.
 *
 * Reads what it needs for a whole batch at once (domains, suppressions, confirmations) and never
 * writes. A refusal is a value here, because a permissive batch goes on without the refused ones.
 */
import { ownNames } from '../../base/config.ts';
import { SANDBOX_DOMAIN } from '../../base/destination-kind.ts';
import { ApiError, validationFailed } from '../../base/errors.ts';
import { addressOf, type Mailbox } from '../../mail/header/address.ts';
import { ownMessageId } from '../../mail/header/message-id.ts';
import type { Domain, Recipient, Suppression } from '../../store/rows.ts';
import { refuseUnsubscribe } from './unsubscribe-link.ts';
import { unconfirmed } from './confirmed-recipients.ts';
import type { Context } from '../context.ts';
import { sendingDomain } from '../domains/lookup.ts';
import type { Draft, Sender } from '../draft.ts';
import { SIMULATIONS, simulationOf, type Simulation } from './sandbox.ts';

/** One recipient of a draft, each address once. */
export interface Addressee {
  /** As written, domain in A-labels: the envelope's spelling. */
  address: string;
  domain: string;
  kind: Recipient['kind'];
  /** How it ends inside the appliance; null: it is mailed. */
  simulation: Simulation | null;
  /** Why it is left out, or null. */
  suppression: Suppression | null;
}

/** A draft that is taken. */
export interface Taken {
  draft: Draft;
  /** Null for a sandbox send from a domain that is not the account's. */
  domain: Domain | null;
  addressees: Addressee[];
}

/** Decides about every draft, in order; drafts that are refusals stay what they are. */
export async function decide(
  ctx: Context,
  sender: Sender,
  drafts: readonly (Draft | ApiError)[],
): Promise<(Taken | ApiError)[]> {
  const decisions: (Taken | ApiError)[] = [];
  const addresses = new Map<string, string>();
  for (const draft of drafts) {
    const decision = draft instanceof ApiError ? draft : await take(ctx, sender, draft);
    decisions.push(decision);
    if (decision instanceof ApiError) continue;
    for (const { address, domain } of decision.addressees) {
      if (domain !== SANDBOX_DOMAIN) addresses.set(address.toLowerCase(), domain);
    }
  }
  if (addresses.size === 0) return decisions;

  const suppressed = await ctx.store.suppressed(sender.account.id, [...addresses.keys()]);
  if (suppressed.size > 0) markSuppressed(decisions, suppressed);
  if (!sender.plan.confirmedRecipientsOnly) return decisions;
  const asked = [...addresses].map(([address, domain]) => ({ address, domain }));
  return refuseUnconfirmed(decisions, await unconfirmed(ctx, sender.account.id, asked));
}

/** The draft with its domain and recipients, or why it is refused as a whole. Cheapest reasons first. */
async function take(ctx: Context, sender: Sender, draft: Draft): Promise<Taken | ApiError> {
  const addressees = addresseesOf(draft, sender.key.isTest);
  const refusal =
    refuseRecipients(draft, ctx.config.live.limits.recipients) ??
    refuseAttachments(draft, sender.plan.attachmentBytes) ??
    refuseMessageId(draft, ctx) ??
    refuseUnsubscribe(draft, addressees.length);
  if (refusal !== null) return refusal;
  const domain = await sendingDomain(ctx, sender.account.id, draft.from.domain);
  if (sender.key.isTest) return { draft, domain, addressees };
  if (domain?.status !== 'verified') return refuseDomain(draft.from, domain, '');
  const other = draft.sender;
  if (other !== undefined && other.domain !== draft.from.domain) {
    const its = await sendingDomain(ctx, sender.account.id, other.domain);
    if (its?.status !== 'verified') return refuseDomain(other, its, ' of the Sender header');
  }
  return { draft, domain, addressees };
}

/** A Message-ID of ours leads people and logs to that email: nobody may send under that of another. */
function refuseMessageId({ raw, messageId }: Draft, { config }: Context): ApiError | null {
  if (raw !== null || messageId === undefined) return null;
  const isOurs = ownNames(config.startup).some((name) => ownMessageId(messageId, name) !== null);
  if (!isOurs) return null;
  const path = 'headers.Message-ID';
  const message = `${path} must not be one that this service made for another email. Leave it out.`;
  return validationFailed([{ path, message }]);
}

function refuseRecipients(draft: Draft, limit: number): ApiError | null {
  const all = [...draft.to, ...draft.cc, ...draft.bcc];
  if (all.length === 0) {
    return validationFailed([{ path: 'to', message: 'to must name at least one recipient.' }], {
      name: 'missing_required_field',
    });
  }
  if (all.length > limit) {
    const message = `This email has ${all.length} recipients; to, cc and bcc may have ${limit} together.`;
    return validationFailed([{ path: 'to', message }]);
  }
  const unknown = all.find((mailbox) => simulationOf(mailbox) === 'unknown');
  if (unknown === undefined) return null;
  const message = `${addressOf(unknown)} is not simulated; ${SANDBOX_DOMAIN} has: ${SIMULATIONS.join(', ')}.`;
  return validationFailed([{ path: 'to', message }]);
}

function refuseAttachments(draft: Draft, maxBytes: number): ApiError | null {
  const bytes =
    draft.attachmentBytes ??
    draft.attachments.reduce((sum, { content }) => sum + content.length, 0);
  if (bytes <= maxBytes) return null;
  return new ApiError(
    'content_rejected',
    `The attachments have ${bytes} bytes; this account's plan allows ${maxBytes}.`,
    { name: 'invalid_attachment', detail: { bytes, max_bytes: maxBytes } },
  );
}

/** `where`: empty for the From address, else which header names the domain. */
function refuseDomain(
  { domain: name }: Mailbox,
  domain: Domain | null,
  where: '' | ' of the Sender header',
): ApiError {
  if (domain === null) {
    return new ApiError(
      'from_domain_not_allowed',
      `The domain ${name}${where} is not one of this account's domains. Please add and verify it.`,
    );
  }
  return new ApiError(
    'domain_not_verified',
    `The ${name} domain${where} is not verified. Please publish its DNS records and verify it.`,
  );
}

/** Every recipient once, by address without regard to case, as it is named first. */
function addresseesOf(draft: Draft, isTest: boolean): Addressee[] {
  const seen = new Set<string>();
  const addressees: Addressee[] = [];
  const add = (mailboxes: readonly Mailbox[], kind: Addressee['kind']): void => {
    for (const mailbox of mailboxes) {
      const address = addressOf(mailbox);
      const key = address.toLowerCase();
      if (seen.has(key)) continue;
      seen.add(key);
      const named = simulationOf(mailbox);
      const simulation = named === 'unknown' ? null : (named ?? (isTest ? 'delivered' : null));
      addressees.push({ address, domain: mailbox.domain, kind, simulation, suppression: null });
    }
  };
  add(draft.to, 'to');
  add(draft.cc, 'cc');
  add(draft.bcc, 'bcc');
  return addressees;
}

function markSuppressed(
  decisions: readonly (Taken | ApiError)[],
  suppressed: ReadonlyMap<string, Suppression>,
): void {
  for (const decision of decisions) {
    if (decision instanceof ApiError) continue;
    for (const addressee of decision.addressees) {
      if (addressee.domain === SANDBOX_DOMAIN) continue;
      addressee.suppression = suppressed.get(addressee.address.toLowerCase()) ?? null;
    }
  }
}

function refuseUnconfirmed(
  decisions: readonly (Taken | ApiError)[],
  missing: ReadonlySet<string>,
): (Taken | ApiError)[] {
  return decisions.map((decision) => {
    if (decision instanceof ApiError) return decision;
    const first = decision.addressees.find(({ address }) => missing.has(address.toLowerCase()));
    if (first === undefined) return decision;
    return new ApiError(
      'recipient_not_confirmed',
      `${first.address} is not a confirmed recipient, and this account's plan allows no other.`,
    );
  });
}
