/**
 * What nodes that share a store have in common with a certificate authority: the account, and the certificates.
 *
 * Promises one account for all nodes, whose key is made by one of them; that a certificate which a node has ordered
 * is there for every node with the same names, also for one that has lost its disk; and that each node can answer the
 * authority for any other (RFC 8555 section 8.1: an answer is the token and the account's thumbprint). Keys are sealed.
 * What does not open, because `secret.key` was replaced, counts as absent. Asks the store for the account at most once a
 * second, however many clients ask. Fails as the store fails.
 */
import { SEALED } from '../../store/settings.ts';
import { keyAuthorization, newAccountKey } from '../../wire/https/acme.ts';
import type { Context } from '../context.ts';

type SharedContext = Pick<Context, 'store' | 'secrets' | 'clock'>;

const ACCOUNT = `${SEALED}acme_account`;
const ACCOUNT_JOB = 'acme_account';
/** To make a key takes no second; whoever vanished in it is followed after this. */
const ACCOUNT_LEASE_MS = 30_000;
/** A node hears of an account that another has made within this: before the authority asks. */
const FRESH_MS = 1_000;
/** Of base64url (RFC 8555 section 8.1); authorities use 43 characters. */
const TOKEN = /^[\w-]{16,128}$/;

export class SharedCertificates {
  readonly #ctx: SharedContext;
  readonly #holder: string;
  readonly #setting: string;
  /** Of this process: the answer of the store, and until when it stands by steady time. */
  #account: { key: Promise<string | null>; until: number } = {
    key: Promise.resolve(null),
    until: 0,
  };

  /** `names`: of the certificate. `holder`: of this process, different for every start. */
  constructor(ctx: SharedContext, names: readonly string[], holder: string) {
    this.#ctx = ctx;
    this.#holder = holder;
    this.#setting = `${SEALED}acme_certificate:${names.toSorted().join(' ')}`;
  }

  /** Names the order of these names: who has it as a job orders for all. */
  get orderJob(): string {
    return this.#setting;
  }

  get holder(): string {
    return this.#holder;
  }

  /** PEM, the key with the chain; null: no node has ordered one. */
  certificate(): Promise<string | null> {
    return this.#open(this.#setting);
  }

  /** Keeps it for every node that has these names. */
  async keep(pem: string): Promise<void> {
    await this.#seal(this.#setting, pem);
  }

  /** PEM. Null: another node makes it just now. `own`: the key to begin with, if this node has one; null: none. */
  async accountKey(own: string | null): Promise<string | null> {
    const known = await this.#open(ACCOUNT);
    if (known !== null) return known;
    const { store } = this.#ctx;
    if (!(await store.takeJob(ACCOUNT_JOB, this.#holder, ACCOUNT_LEASE_MS))) return null;
    try {
      const made = (await this.#open(ACCOUNT)) ?? own ?? (await newAccountKey());
      await this.#seal(ACCOUNT, made);
      return made;
    } finally {
      await store.endJob(ACCOUNT_JOB, this.#holder, 0);
    }
  }

  /** What the authority wants to read for `token`; null: it is none, or no node has an account. */
  async answerTo(token: string): Promise<string | null> {
    if (!TOKEN.test(token)) return null;
    const now = this.#ctx.clock.steady();
    if (now >= this.#account.until) {
      this.#account = { key: this.#open(ACCOUNT), until: now + FRESH_MS };
    }
    const key = await this.#account.key;
    return key === null ? null : keyAuthorization(token, key);
  }

  async #open(name: string): Promise<string | null> {
    const { store, secrets } = this.#ctx;
    const text = await store.setting(name);
    if (text === null) return null;
    const sealed = Buffer.from(text, 'hex');
    return secrets.opens(sealed, name) ? secrets.open(sealed, name) : null;
  }

  async #seal(name: string, plain: string): Promise<void> {
    const { store, secrets } = this.#ctx;
    await store.setSetting(name, Buffer.from(secrets.seal(plain, name)).toString('hex'));
  }
}
