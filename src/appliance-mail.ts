/**
 * The SMTP doors of the appliance: submission with an API key, and reports that come home.
 *
 * Promises that either every door of the config is open or none is. Fails with `OperatorError` when an
 * address is taken or no certificate fits.
 */
import type { Config, Listen } from './base/config.ts';
import type { AcceptedSink } from './flow/accept.ts';
import type { Context } from './flow/context.ts';
import { Reports } from './flow/reports.ts';
import { InboundServer } from './smtp/inbound.ts';
import { SubmissionServer } from './smtp/submission.ts';
import type { Rates } from './smtp/submission.ts';

export interface MailDoors {
  /** As `host:port`. */
  addresses: { inbound: string | null; submission: string[]; submissions: string[] };
  /**
   * Reads the certificate that `config` names. What it returns takes config and certificate over, can not fail and
   * says whether the certificate is another. Throws `OperatorError`, with nothing changed.
   */
  prepare(config: Config): () => boolean;
  stop(): Promise<void>;
}

export async function openMailDoors(
  ctx: Context,
  parts: { queue: AcceptedSink; rates: Rates },
): Promise<MailDoors> {
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
