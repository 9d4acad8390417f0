/**
 * Certificates that the appliance fetches and renews by itself, for HTTP and SMTP alike.
 *
 * Promises that key and chain are always a pair (one file, put in place by a rename), that the file is
 * readable by its owner only, and that a failed order leaves the old certificate in use and is tried
 * again ever less often, so that the authority's rate limits hold. Renews at a third of the lifetime,
 * or when the names have changed. Nodes that share a store have one account, answer the authority for each other, and
 * those with the same names have one certificate, ordered by one of them. They order one after the other, and after a
 * refusal none for a quarter of an hour, because all of them certify the service's name.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { listenFailure } from '../../base/listening.ts';
import { Periodic } from '../../base/periodic.ts';
import type { JobStore } from '../../store/jobs.ts';
import { newAccountKey, orderCertificate } from '../../wire/https/acme.ts';
import type { Context } from '../context.ts';
import { SharedJob } from '../shared-job.ts';
import { SharedCertificates } from './shared-certificates.ts';

const HOUR_MS = 3_600_000;
/** How often the certificate's age is checked. */
const CHECK_MS = 12 * HOUR_MS;
/** How often a node looks for what others that share its store have ordered. */
const LOOK_MS = 60_000;
/** First wait after a failure; doubles up to a day (Let's Encrypt: 5 failures per name and hour). */
const RETRY_MS = HOUR_MS;
const RETRY_MAX_MS = 24 * HOUR_MS;
/** After a refusal, for all nodes that share a store: four in an hour at most (see RETRY_MS). */
const REFUSED_MS = HOUR_MS / 4;
/** How often a node without its certificate asks whether it may order, while others do. */
const ASK_MS = 10_000;
/** Who has it orders; none of the other nodes does, whatever its names. */
const ORDERS_JOB = 'acme_order';
const CHALLENGE_PATH = '/.well-known/acme-challenge/';

type KeeperContext = Pick<Context, 'config' | 'clock' | 'log' | 'resolver'>;
/** Of nodes that share a store. */
type SharingContext = Pick<Context, 'config' | 'store' | 'secrets' | 'clock' | 'ids'>;

/** What this node shares with others. */
export function sharedCertificates(ctx: SharingContext): SharedCertificates {
  return new SharedCertificates(ctx, namesToCertify(ctx.config), ctx.ids.next(ctx.clock.now()));
}

const FOLDER = 'acme';
const CERTIFICATE = 'certificate.pem';
const ACCOUNT_KEY = 'account.key';

/** The PEM file with key and chain that HTTP and SMTP use when no files are configured. */
export function certificateFile(dataDir: string): string {
  return join(dataDir, FOLDER, CERTIFICATE);
}

/** The host names to certify: of `hostname` and of `public_url`, each once. */
export function namesToCertify(config: Context['config']): string[] {
  return [...new Set([config.startup.hostname, new URL(config.live.http.publicUrl).hostname])];
}

/** Keeps one certificate fresh for as long as the appliance runs. */
export class CertificateKeeper {
  readonly #ctx: KeeperContext;
  readonly #onRenewed: () => void;
  readonly #answers = new Map<string, string>();
  #server: ReturnType<typeof Bun.serve> | null = null;
  readonly #checks: Periodic;
  #failures = 0;
  /** After a failure: how long nobody orders. */
  #restMs = 0;
  /** Whether another node has to end its order first. */
  #isWaiting = false;
  readonly #sharing: { certificates: SharedCertificates; order: SharedJob } | null;

  /**
   * `onRenewed` is called when a new certificate has been written to its file. `sharing`: what nodes on one store have in
   * common, and the store; null: nobody shares it.
   */
  constructor(
    ctx: KeeperContext,
    onRenewed: () => void,
    sharing: { certificates: SharedCertificates; store: JobStore } | null = null,
  ) {
    this.#ctx = ctx;
    this.#onRenewed = onRenewed;
    const failure = {
      event: 'certificate_check_failed',
      hint: `Look at ${ctx.config.startup.dataDir}/acme.`,
    };
    this.#checks = new Periodic(ctx, {
      firstMs: 0,
      failure,
      everyMs: () => (sharing === null ? this.#restMs || CHECK_MS : this.#lookMs()),
      run: (signal) => this.#check(signal),
    });
    if (sharing === null) {
      this.#sharing = null;
      return;
    }
    const { certificates, store } = sharing;
    const parts = { store, clock: ctx.clock, holder: certificates.holder };
    const one = new SharedJob(parts, ORDERS_JOB, {
      firstMs: 0,
      failure,
      everyMs: () => (this.#restMs === 0 ? 0 : REFUSED_MS),
      run: (signal) => this.#orderShared(certificates, signal),
    });
    const order = new SharedJob(parts, certificates.orderJob, {
      firstMs: 0,
      failure,
      everyMs: () => this.#restMs,
      run: (signal) => this.#orderNext(certificates, one, signal),
    });
    this.#sharing = { certificates, order };
  }

  /** Opens the challenge listener and checks the certificate now. Throws `OperatorError` when the port is taken. */
  start(): void {
    const { acme } = this.#ctx.config.startup;
    if (acme === null) return;
    try {
      this.#server = Bun.serve({
        hostname: acme.listen.host,
        port: acme.listen.port,
        reusePort: false,
        fetch: (request) => this.#serve(request),
      });
    } catch (error) {
      throw listenFailure('acme.listen', acme.listen, error);
    }
    this.#checks.start();
  }

  /** Where the challenge listener is; null when it is off. */
  get port(): number | null {
    return this.#server?.port ?? null;
  }

  async stop(): Promise<void> {
    // Not waited for: an authority may take minutes. A certificate that comes after this is used from the next start.
    void this.#checks.stop();
    await this.#server?.stop(true);
  }

  async #serve(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (pathname.startsWith(CHALLENGE_PATH)) {
      const token = pathname.slice(CHALLENGE_PATH.length);
      const answer = this.#answers.get(token) ?? (await this.#sharedAnswer(token));
      if (answer !== null) return new Response(answer);
      return new Response('no such challenge\n', { status: 404 });
    }
    const { publicUrl } = this.#ctx.config.live.http;
    if (!publicUrl.startsWith('https:')) return new Response('not found\n', { status: 404 });
    return new Response(null, {
      status: 308,
      headers: { location: `${publicUrl}${pathname}${search}` },
    });
  }

  /** Null too while the store is away: the authority asks again. */
  async #sharedAnswer(token: string): Promise<string | null> {
    return (await this.#sharing?.certificates.answerTo(token).catch(() => null)) ?? null;
  }

  /** From when to when the certificate of this PEM is valid, in epoch milliseconds; 0 for what is none, or lacks a name. */
  #validityOf(pem: string | null): { beganAt: number; endsAt: number } {
    try {
      const leaf = new X509Certificate(pem ?? '');
      const names = namesToCertify(this.#ctx.config);
      if (names.every((name) => leaf.checkHost(name) !== undefined)) {
        return { beganAt: Date.parse(leaf.validFrom), endsAt: Date.parse(leaf.validTo) };
      }
    } catch {
      // As if there were none.
    }
    return { beganAt: 0, endsAt: 0 };
  }

  #isDue(): boolean {
    const { beganAt, endsAt } = this.#validityOf(this.#own(CERTIFICATE));
    return this.#ctx.clock.now() > endsAt - (endsAt - beganAt) / 3;
  }

  #lookMs(): number {
    return this.#isWaiting ? ASK_MS : LOOK_MS;
  }

  async #check(signal: AbortSignal): Promise<void> {
    this.#isWaiting = false;
    if (this.#sharing === null) {
      this.#restMs = 0;
      if (this.#isDue()) await this.#order(signal, () => this.#accountKey());
      return;
    }
    const { certificates, order } = this.#sharing;
    try {
      await this.#agree(certificates, signal);
      if (!this.#isDue()) return;
      await order.run(signal);
      this.#isWaiting = this.#restMs === 0 && this.#isDue();
    } catch (error) {
      // The store closes while an order is under way, which nobody waits for.
      if (!signal.aborted) throw error;
    }
  }

  /** Takes what another node has ordered, or gives what this one alone has. */
  async #agree(certificates: SharedCertificates, signal: AbortSignal): Promise<void> {
    const [stored, own] = [await certificates.certificate(), this.#own(CERTIFICATE)];
    const [storedEnd, ownEnd] = [this.#validityOf(stored).endsAt, this.#validityOf(own).endsAt];
    if (own !== null && ownEnd > storedEnd) await certificates.keep(own);
    if (stored === null || storedEnd <= ownEnd) return;
    this.#write(CERTIFICATE, stored);
    this.#ctx.log.info('certificate_taken', { names: namesToCertify(this.#ctx.config) });
    if (!signal.aborted) this.#onRenewed();
  }

  /** Orders as soon as no other node does. */
  async #orderNext(
    certificates: SharedCertificates,
    one: SharedJob,
    signal: AbortSignal,
  ): Promise<void> {
    this.#restMs = 0;
    // Whoever had the job before may have ordered it.
    await this.#agree(certificates, signal);
    if (this.#isDue()) await one.run(signal);
  }

  async #orderShared(certificates: SharedCertificates, signal: AbortSignal): Promise<void> {
    const accountKey = await certificates.accountKey(this.#own(ACCOUNT_KEY));
    if (accountKey === null) return;
    await this.#order(signal, () => Promise.resolve(accountKey));
  }

  /** Sets how long nobody orders again: ever longer while orders fail. */
  async #order(signal: AbortSignal, accountKey: () => Promise<string>): Promise<void> {
    const { config, log, resolver } = this.#ctx;
    const names = namesToCertify(config);
    try {
      const { key, chain } = await orderCertificate({
        directoryUrl: config.startup.acme?.directoryUrl ?? '',
        accountKey: await accountKey(),
        email: config.startup.acme?.email ?? '',
        names,
        resolver,
        ca:
          config.startup.tls.extraCaFile === ''
            ? null
            : readFileSync(config.startup.tls.extraCaFile, 'utf8'),
        answer: (token, answer) => void this.#answers.set(token, answer),
        forget: (token) => void this.#answers.delete(token),
      });
      const pem = `${chain.trimEnd()}\n${key}`;
      this.#write(CERTIFICATE, pem);
      // While the store is away it stays here; the next look gives it.
      await this.#sharing?.certificates.keep(pem).catch(() => undefined);
      this.#failures = 0;
      log.info('certificate_renewed', { names });
      if (!signal.aborted) this.#onRenewed();
    } catch (error) {
      this.#restMs = Math.min(RETRY_MS * 2 ** this.#failures, RETRY_MAX_MS);
      this.#failures += 1;
      log.error('certificate_failed', {
        names,
        reason: error instanceof Error ? error.message : String(error),
        next_in_ms: this.#restMs,
        hint: 'The DNS of every name must point to this machine (that of the service to any node), and port 80 must reach [acme] listen. The appliance tries again by itself.',
      });
    }
  }

  async #accountKey(): Promise<string> {
    const own = this.#own(ACCOUNT_KEY);
    if (own !== null) return own;
    const key = await newAccountKey();
    this.#write(ACCOUNT_KEY, key);
    return key;
  }

  /** A file of this node; null: it has none. */
  #own(name: string): string | null {
    const file = join(this.#ctx.config.startup.dataDir, FOLDER, name);
    return existsSync(file) ? readFileSync(file, 'utf8') : null;
  }

  #write(name: string, text: string): void {
    writePrivately(join(this.#ctx.config.startup.dataDir, FOLDER, name), text);
  }
}

/** Writes the whole file or nothing, readable by its owner only. */
function writePrivately(file: string, text: string): void {
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
}
