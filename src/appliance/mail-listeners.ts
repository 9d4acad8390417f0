/**
 * The SMTP listeners of the appliance: submission with an API key, and bounces and complaints coming in.
 *
 * Promises that either every listener of the config is open or none is. Fails with `OperatorError` when an
 * address is in use or a certificate cannot be used.
 */
import type { Config, Listen } from '../base/config.ts';
import type { AcceptedSink } from '../flow/accept/accept.ts';
import type { Context } from '../flow/context.ts';
import type { Restable } from '../flow/upkeep/descriptors.ts';
import { Reports } from '../flow/reports/reports.ts';
import { InboundServer } from '../smtp/inbound.ts';
import { SubmissionServer } from '../smtp/submission.ts';
import type { Rates } from '../smtp/submission.ts';

export interface MailListeners {
  /** As `host:port`. */
  addresses: { inbound: string | null; submission: string[]; submissions: string[] };
  /**
   * Reads the certificate that `config` names. What it returns takes config and certificate over, cannot fail and
   * says whether the certificate is another. Throws `OperatorError`, with nothing changed.
   */
  prepare(config: Config): () => boolean;
  /** May rest while descriptors are short. */
  restable: readonly Restable[];
  stop(): Promise<void>;
}

export async function openMailListeners(
  ctx: Context,
  parts: { queue: AcceptedSink; rates: Rates },
): Promise<MailListeners> {
  const submission = new SubmissionServer(ctx, parts);
  const inbound = new InboundServer(ctx, new Reports(ctx, parts.queue));
  const submissionAt = await submission.start();
  try {
    const inboundAt = await inbound.start();
    return {
      addresses: {
        inbound: inboundAt === null ? null : written(inboundAt),
        submission: submissionAt.submission.map(written),
        submissions: submissionAt.submissions.map(written),
      },
      restable: [...submission.listeners, ...inbound.listeners],
      prepare(config) {
        const takeOvers = [submission.prepare(config), inbound.prepare(config)];
        return () => takeOvers.map((takeOver) => takeOver()).includes(true);
      },
      async stop() {
        await Promise.all([submission.stop(), inbound.stop()]);
      },
    };
  } catch (error) {
    await submission.stop();
    throw error;
  }
}

function written({ host, port }: Listen): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
