/**
 * What an outcome means: delivered, deferred or final, of which class, and whether it suppresses the address.
 *
 * Promises that whatever is not known is deferred, and that a refusal suppresses only when it is permanent and concerns
 * the address itself. Decides every retry: `kind` here is what `outcome.ts` acts on. Pure: the same outcome always gives
 * the same verdict, and nothing can fail.
 */
import { classifyReply } from '../../mail/replies/bounce-class.ts';
import type { BounceClass } from '../../mail/replies/bounce-class.ts';
import type { Reply } from '../../wire/smtp/reply.ts';
import type { Bounce } from '../events.ts';
import type { Outcome } from './kinds.ts';

export interface Verdict {
  kind: 'delivered' | 'sent' | 'deferred' | 'bounced' | 'failed';
  /** Class of what went wrong; null when nothing did. */
  class: BounceClass | 'ours' | null;
  bounceType: Bounce['type'];
  subType: Bounce['subType'];
  suppresses: boolean;
  /** The server's reply that decided it. */
  reply: Reply | null;
  /** What the operator can do about it; null when there is nothing to do. */
  hint: string | null;
}

const PLAIN = {
  class: null,
  bounceType: 'Undetermined',
  subType: 'General',
  suppresses: false,
  reply: null,
  hint: null,
} as const;

/** What `outcome` means for its recipient. */
export function verdictOf(outcome: Outcome): Verdict {
  switch (outcome.kind) {
    case 'accepted':
      return { ...PLAIN, kind: 'delivered', reply: outcome.reply };
    case 'relayed':
      return { ...PLAIN, kind: 'sent', reply: outcome.reply };
    case 'unreached':
      return unreached(outcome);
    case 'unsigned':
      return { ...PLAIN, kind: 'deferred', class: 'ours' };
    case 'uncomposable':
      return { ...PLAIN, kind: 'failed', class: 'ours' };
    case 'throttled':
      return {
        ...PLAIN,
        kind: 'deferred',
        class: outcome.throttle?.class ?? 'network',
        hint: outcome.throttle?.hint ?? null,
      };
    case 'impossible':
      return { ...PLAIN, kind: 'failed', class: 'network' };
    case 'null_mx':
      // RFC 7505 section 4.1: as if the server had replied 556 5.1.10.
      return {
        ...PLAIN,
        kind: 'bounced',
        class: 'recipient',
        bounceType: 'Permanent',
        subType: 'NoEmail',
        suppresses: true,
      };
    case 'refused':
      return refused(outcome);
  }
}

/** No answer for this recipient, but perhaps a reply to the connection: it may name the reason. */
function unreached({ reply, stage }: Outcome): Verdict {
  if (reply === null) return { ...PLAIN, kind: 'deferred', class: 'network' };
  const said = classifyReply({ ...reply, stage });
  const { subType, hint } = said;
  const name = said.class === 'unknown' ? 'network' : said.class;
  return { ...PLAIN, kind: 'deferred', class: name, bounceType: 'Transient', subType, reply, hint };
}

function refused({ reply, stage }: Outcome): Verdict {
  if (reply === null) return { ...PLAIN, kind: 'deferred', class: 'protocol' };
  const said = classifyReply({ ...reply, stage });
  return {
    kind: reply.code >= 500 ? 'bounced' : 'deferred',
    class: said.class,
    bounceType: said.bounceType,
    subType: said.subType,
    suppresses: said.isSuppressing,
    reply,
    hint: said.hint,
  };
}

/**
 * Whether the reply asks us to slow down, or refuses our address as a sender: the class of that request, or null. A
 * reply about one mailbox (X.2.x: that user receives too much) does not concern the site.
 */
export function throttleRequest(outcome: Outcome, verdict: Verdict): 'rate' | 'reputation' | null {
  const { reply } = outcome;
  if (reply === null || /^[45]\.2\./.test(reply.enhanced ?? '')) return null;
  if (verdict.class === 'reputation') return 'reputation';
  if (reply.code >= 500) return null;
  if (verdict.class === 'rate') return 'rate';
  return reply.code === 421 && (reply.enhanced ?? '').startsWith('4.7.') ? 'rate' : null;
}
