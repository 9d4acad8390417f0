/**
 * A site whose hosts answer by a script, without a socket: for what is decided between two answers.
 *
 * `script` says for each address what its connection and its transaction come to; `seen` lists what was done, in order.
 */
import { Concurrency } from '../../../src/flow/pacing/concurrency.ts';
import { Fallback } from '../../../src/flow/pacing/fallback.ts';
import { Lane } from '../../../src/flow/pacing/lane.ts';
import { OTHERS } from '../../../src/flow/pacing/provider-limits.ts';
import type { DeliverTools } from '../../../src/flow/deliver/deliver.ts';
import { addressesOf, type Dial, type SiteHost } from '../../../src/flow/deliver/host-address.ts';
import { Sessions, type Acquired } from '../../../src/flow/deliver/session-pool.ts';
import { SignedMessages, type SignedMessage } from '../../../src/flow/deliver/signed-messages.ts';
import { Sites, type Site, type SiteResult } from '../../../src/flow/deliver/site.ts';
import { BrokenTls, NO_TLS, type TlsPolicy } from '../../../src/flow/deliver/tls-policy.ts';
import type { Recipient } from '../../../src/store/rows.ts';
import { OutgoingMessage } from '../../../src/wire/smtp/body.ts';
import type { SmtpSession } from '../../../src/wire/smtp/client.ts';
import { PRODUCTION_DEADLINES } from '../../../src/wire/smtp/deadlines.ts';
import type { Reply } from '../../../src/wire/smtp/reply.ts';
import type { Envelope, SendResult } from '../../../src/wire/smtp/transaction.ts';
import { draft, mailbox, openFixture } from '../fixture.ts';

export interface Answer {
  /** How the connection fails; absent: it is made. */
  failed?: {
    stage?: 'connect' | 'banner' | 'handshake';
    reply?: Reply;
    isLocal?: boolean;
    tlsFailed?: boolean;
  };
  isReused?: boolean;
  /** What was negotiated; absent: the session is in the clear. */
  tls?: SmtpSession['tls'];
  /** What the transaction comes to; an error is thrown. */
  result?: SendResult | Error;
}

/** What happens when an address is dialled; `dial` tells with which TLS. */
export type Script = (address: string, dial: Dial) => Answer;

export const OK: SendResult = {
  kind: 'accepted',
  reply: { code: 250, enhanced: '2.0.0', text: 'OK' },
};

export const refusal = (code: number, enhanced: string): SendResult => ({
  kind: 'refused',
  stage: 'rcpt',
  reply: { code, enhanced, text: 'said so' },
});

export const lost = (mayBeDuplicate: boolean): SendResult => ({
  kind: 'broken',
  stage: mayBeDuplicate ? 'dot' : 'mail',
  cause: 'the connection was closed',
  reply: null,
  mayBeDuplicate,
});

class ScriptedSessions extends Sessions {
  idle: string | null = null;
  /** With which TLS the idle session was dialled; null: whichever is asked for. */
  idleMode: TlsPolicy['mode'] | null = null;
  readonly seen: string[] = [];
  readonly envelopes: Envelope[] = [];
  readonly deadlines: [connect: number, banner: number][] = [];
  script: Script = () => ({});
  /** Whether some address is not dialled now: `backoffOf` is asked then. */
  isBackingOff = false;

  override get hasBackoffs(): boolean {
    return this.isBackingOff;
  }

  override hasIdle({ options }: Dial): boolean {
    const isMode = this.idleMode === null || options.tls.mode === this.idleMode;
    return options.address === this.idle && isMode;
  }

  override async acquire(dial: Dial, mayReuse = true): Promise<Acquired> {
    const { address, tls, deadlines } = dial.options;
    const answer = this.script(address, dial);
    const isReused = mayReuse && answer.isReused === true;
    this.seen.push(`${address} ${tls.mode}${isReused ? ' kept' : ''}`);
    this.deadlines.push([deadlines.connect, deadlines.banner]);
    if (answer.failed !== undefined) {
      const { stage = 'connect', reply = null, isLocal = false } = answer.failed;
      const { tlsFailed = false } = answer.failed;
      return { kind: 'failed', stage, reply, cause: 'failed', isLocal, tlsFailed };
    }
    // A kept session that was closed breaks; the next one is as the script says.
    const result = isReused ? (answer.result ?? OK) : answer.isReused === true ? OK : answer.result;
    const session = {
      tls: answer.tls ?? null,
      send: async (envelope: Envelope) => {
        this.envelopes.push(envelope);
        if (result instanceof Error) throw result;
        return result ?? OK;
      },
    };
    // A session is a class over a socket; of it only this much is used here.
    return { kind: 'ready', session: session as unknown as SmtpSession, isReused };
  }

  override release(): void {}
}

class OneMessage extends SignedMessages {
  signed: SignedMessage | Error = new Error('no message yet');
  users = 0;

  override async acquire(): Promise<SignedMessage> {
    this.users += 1;
    if (this.signed instanceof Error) throw this.signed;
    return this.signed;
  }

  override release(): void {
    this.users -= 1;
  }
}

class OneSmarthost extends Sites {
  relay: Site | null = null;

  override async smarthost(): Promise<SiteResult | null> {
    return this.relay === null ? null : { kind: 'site', site: this.relay };
  }
}

const OPEN_TLS: TlsPolicy = { ...NO_TLS, name: 'opportunistic', mode: 'opportunistic' };

/** A host with these addresses. */
export function hostOf(preference: number, addresses: string[], tls: TlsPolicy = NO_TLS): SiteHost {
  const targets = addresses.map((address) => ({ address, from: null }));
  return { name: `mx${preference}.receiver.example`, preference, targets, tls };
}

export { OPEN_TLS };

export async function startScripted(hosts: SiteHost[]) {
  const fixture = await openFixture();
  const sender = await fixture.sender();
  await fixture.verified(sender, 'acme.example');
  const to = [mailbox('ann@receiver.example')];
  const stored = await fixture.stored(await fixture.accept(sender, draft({ to })));
  const [recipient] = stored.recipients;
  if (recipient === undefined) throw new Error('a recipient was accepted');
  const { ctx, clock } = fixture;
  const sessions = new ScriptedSessions(clock);
  const fallback = new Fallback({ clock, log: ctx.log, hasSmarthost: true });
  const dialing = {
    heloName: 'mail.rig.test',
    deadlines: PRODUCTION_DEADLINES,
    trust: undefined,
    signal: new AbortController().signal,
  };
  const siteOf = (of: SiteHost[], isDirect: boolean): Site => ({
    key: 'mx:receiver',
    addresses: addressesOf(of, { port: 25, auth: null }, dialing),
    limits: OTHERS,
    isShared: false,
    isRelay: !isDirect,
    isDirect,
  });
  const sites = new OneSmarthost({
    ctx,
    captureAt: null,
    // Neither is asked: the only site is given.
    sources: { sourceFor: async () => ({ kind: 'usable', from: null }) } as never,
    fallback,
    mtaSts: { policyFor: async () => null },
    dialing,
  });
  const messages = new OneMessage(ctx);
  messages.signed = {
    message: stored.message,
    outgoing: new OutgoingMessage(Buffer.from('Subject: x\r\n\r\nx\r\n'), null),
    domain: 'acme.example',
    needsSmtpUtf8: false,
    inAscii: null,
  };
  const concurrency = new Concurrency();
  const brokenTls = new BrokenTls(clock);
  const tools: DeliverTools = { ctx, concurrency, fallback, sites, messages, sessions, brokenTls };
  return {
    fixture,
    tools,
    sessions,
    messages,
    sites,
    fallback,
    siteOf,
    recipient: recipient satisfies Recipient,
    signed: messages.signed,
    site: siteOf(hosts, true),
    lane: new Lane('mx:receiver', OTHERS, clock),
  };
}
