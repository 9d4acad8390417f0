/**
 * Certificates that the appliance fetches and renews by itself, for HTTP and SMTP alike.
 *
 * Promises that key and chain are always a pair (one file, put in place by a rename), that the file is
 * readable by its owner only, and that a failed order leaves the old certificate in use and is tried
 * again ever less often, so that the authority's rate limits hold. Renews at a third of the lifetime,
 * or when the names have changed.
 */
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { listenFailure } from '../../base/listening.ts';
import { Periodic } from '../../base/periodic.ts';
import { newAccountKey, orderCertificate } from '../../wire/https/acme.ts';
import type { Context } from '../context.ts';

const HOUR_MS = 3_600_000;
/** How often the certificate's age is checked. */
const CHECK_MS = 12 * HOUR_MS;
/** First wait after a failure; doubles up to a day (Let's Encrypt: 5 failures per name and hour). */
const RETRY_MS = HOUR_MS;
const RETRY_MAX_MS = 24 * HOUR_MS;
const CHALLENGE_PATH = '/.well-known/acme-challenge/';

type KeeperContext = Pick<Context, 'config' | 'clock' | 'log' | 'resolver'>;

/** The PEM file with key and chain that HTTP and SMTP use when no files are configured. */
export function certificateFile(dataDir: string): string {
  return join(dataDir, 'acme', 'certificate.pem');
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
  #nextMs = CHECK_MS;

  /** `onRenewed` is called when a new certificate has been written to its file. */
  constructor(ctx: KeeperContext, onRenewed: () => void) {
    this.#ctx = ctx;
    this.#onRenewed = onRenewed;
    this.#checks = new Periodic(ctx, {
      firstMs: 0,
      failure: {
        event: 'certificate_check_failed',
        hint: `Look at ${ctx.config.startup.dataDir}/acme.`,
      },
      everyMs: () => this.#nextMs,
      run: (signal) => this.#renewWhenDue(signal),
    });
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

  #serve(request: Request): Response {
    const { pathname, search } = new URL(request.url);
    if (pathname.startsWith(CHALLENGE_PATH)) {
      const answer = this.#answers.get(pathname.slice(CHALLENGE_PATH.length));
      if (answer !== undefined) return new Response(answer);
      return new Response('no such challenge\n', { status: 404 });
    }
    const { publicUrl } = this.#ctx.config.live.http;
    if (!publicUrl.startsWith('https:')) return new Response('not found\n', { status: 404 });
    return new Response(null, {
      status: 308,
      headers: { location: `${publicUrl}${pathname}${search}` },
    });
  }

  #isDue(): boolean {
    const file = certificateFile(this.#ctx.config.startup.dataDir);
    if (!existsSync(file)) return true;
    try {
      const leaf = new X509Certificate(readFileSync(file));
      const beganAt = Date.parse(leaf.validFrom);
      const endsAt = Date.parse(leaf.validTo);
      const isOld = this.#ctx.clock.now() > endsAt - (endsAt - beganAt) / 3;
      const isComplete = namesToCertify(this.#ctx.config).every(
        (name) => leaf.checkHost(name) !== undefined,
      );
      return isOld || !isComplete;
    } catch {
      return true;
    }
  }

  /** Orders a certificate where one is due. Sets when to check again: ever later while orders fail. */
  async #renewWhenDue(signal: AbortSignal): Promise<void> {
    this.#nextMs = CHECK_MS;
    if (!this.#isDue()) return;
    const { config, log, resolver } = this.#ctx;
    const names = namesToCertify(config);
    try {
      const { key, chain } = await orderCertificate({
        directoryUrl: config.startup.acme?.directoryUrl ?? '',
        accountKey: await this.#accountKey(),
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
      writePrivately(certificateFile(config.startup.dataDir), `${chain.trimEnd()}\n${key}`);
      this.#failures = 0;
      log.info('certificate_renewed', { names });
      if (!signal.aborted) this.#onRenewed();
    } catch (error) {
      this.#nextMs = Math.min(RETRY_MS * 2 ** this.#failures, RETRY_MAX_MS);
      this.#failures += 1;
      log.error('certificate_failed', {
        names,
        reason: error instanceof Error ? error.message : String(error),
        next_in_ms: this.#nextMs,
        hint: 'The DNS of every name must point to this machine, and port 80 must reach [acme] listen. The appliance tries again by itself.',
      });
    }
  }

  async #accountKey(): Promise<string> {
    const file = join(this.#ctx.config.startup.dataDir, 'acme', 'account.key');
    if (existsSync(file)) return readFileSync(file, 'utf8');
    const key = await newAccountKey();
    writePrivately(file, key);
    return key;
  }
}

/** Writes the whole file or nothing, readable by its owner only. */
function writePrivately(file: string, text: string): void {
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
}
