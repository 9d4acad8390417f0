/**
 * Signed messages over a store and signers of the test: sizes are numbers here, and no memory is taken for them.
 *
 * `reads` lists the messages whose content was read from the store, `signers` the domains a signer was made for.
 */
import type { Context } from '../../../src/flow/context.ts';
import { SignedMessages } from '../../../src/flow/deliver/signed-messages.ts';
import type { Content, Signed } from '../../../src/mail/dkim/signed-message.ts';
import type { Body, Message } from '../../../src/store/rows.ts';
import { TestClock } from '../../rig/clock.ts';

export const MIB = 1024 * 1024;

export interface Piece {
  id: string;
  accountId?: string;
  /** Bytes of its content. */
  content?: number;
  /** Bytes once it is signed. */
  signed?: number;
  to?: string[];
  cc?: string[];
  bcc?: string[];
  domainId?: string | null;
  body?: Partial<Body>;
}

export interface Made {
  message: Message;
  body: Body;
}

/** So many bytes without their memory: only their number is asked for. */
const bytesOf = (length: number): Buffer => ({ length }) as unknown as Buffer;

function made({ id, content = 1, to = ['a'], cc = [], bcc = [], ...more }: Piece): Made {
  const { accountId = 'acc', domainId = 'dom', body = {} } = more;
  const message = { id, accountId, domainId, to, cc, bcc, createdAt: 0 };
  const whole = { html: null, text: null, headers: [], attachments: [], raw: bytesOf(content) };
  return {
    message: message as unknown as Message,
    body: { ...whole, ...body },
  };
}

export function startBounds() {
  const clock = new TestClock();
  // The wall clock is an hour behind: all of this goes by the time that has really passed.
  clock.jump(-3_600_000);
  const pieces = new Map<string, Piece>();
  const reads: string[] = [];
  const signers: string[] = [];
  const asked = { domains: [] as unknown[], opened: [] as unknown[], identities: [] as unknown[] };
  const contents: Content[] = [];
  const state = {
    textFromHtml: true,
    isDomainGone: false,
    /** Reads of the store under way, and the most there were. */
    reading: 0,
    readingMost: 0,
    /** By message: when the read of its content ends; default: at once. */
    readEnds: new Map<string, Promise<void>>(),
    /** What signing comes to; default: as many bytes as the piece says, at once. */
    sign: null as ((content: Content) => Promise<Signed>) | null,
  };
  /** By the bytes of the content: what they are once signed. */
  const signedBytes = new WeakMap<object, number>();
  const stored = (piece: Piece): Made => {
    const one = made(piece);
    if (one.body.raw !== null) signedBytes.set(one.body.raw, piece.signed ?? 1);
    return one;
  };
  const sign = async (content: Content): Promise<Signed> => {
    contents.push(content);
    if (state.sign !== null) return state.sign(content);
    const raw = content.kind === 'whole' ? content.bytes : {};
    const bytes = bytesOf(signedBytes.get(raw) ?? 1);
    return { message: bytes, data: bytes, dotted: null };
  };
  const ctx = {
    clock,
    config: {
      get live() {
        return { api: { textFromHtml: state.textFromHtml } };
      },
      startup: { cluster: { name: 'north.example' } },
    },
    secrets: {
      mac: () => Buffer.alloc(32),
      open: (sealed: unknown, label: unknown) => {
        asked.opened.push([sealed, label]);
        return 'PEM';
      },
    },
    signing: {
      signer: (identity: unknown) => {
        asked.identities.push(identity);
        return { sign };
      },
    },
    store: {
      messageForDelivery: async (id: string) => {
        reads.push(id);
        state.reading += 1;
        state.readingMost = Math.max(state.readingMost, state.reading);
        await (state.readEnds.get(id) ?? Promise.resolve());
        state.reading -= 1;
        const piece = pieces.get(id);
        return piece === undefined ? null : stored(piece);
      },
      domainForSigning: async (id: string) => {
        signers.push(id);
        asked.domains.push(id);
        if (state.isDomainGone) return null;
        return { id, name: `${id}.example`, selector: `s-${id}`, sealedDkimKey: `sealed-${id}` };
      },
    },
  } as unknown as Context;
  const messages = new SignedMessages(ctx);
  return {
    clock,
    messages,
    reads,
    signers,
    asked,
    contents,
    state,
    /** Puts the message into the store. */
    put: (piece: Piece): string => {
      pieces.set(piece.id, piece);
      return piece.id;
    },
    offer: (piece: Piece): void => {
      messages.offer(stored(piece) as Parameters<SignedMessages['offer']>[0]);
    },
    /** One use of the message, from its beginning to its end. */
    use: async (id: string): Promise<void> => {
      await messages.acquire(id).catch(() => undefined);
      messages.release(id);
    },
  };
}

/** Lets everything run that waits for nothing but promises. */
export const settled = (): Promise<void> => new Promise((done) => setImmediate(done));
