/** The flow fixture with its SMTP listeners on free ports, a key that may send, and a verified domain. */
import type { Listen } from '../../src/base/config.ts';
import type { ByteBudget } from '../../src/flow/byte-budget.ts';
import type { Sender } from '../../src/flow/draft.ts';
import { createKey } from '../../src/flow/accounts/keys.ts';
import { Reports } from '../../src/flow/reports/reports.ts';
import { InboundServer } from '../../src/smtp/inbound.ts';
import type { ListenerLimits } from '../../src/smtp/limits.ts';
import { SubmissionServer } from '../../src/smtp/submission.ts';
import { openFixture, type Fixture } from '../flow/fixture.ts';
import { testAuthority } from '../rig/certificates.ts';

export interface SmtpFixture extends Fixture {
  by: Sender;
  token: string;
  submission: Listen;
  submissions: Listen;
  inbound: Listen;
  server: SubmissionServer;
  inboundServer: InboundServer;
  /** Writes of the request log, which no reply waits for. */
  logWrites: Promise<void>[];
  /** Requests that the send rate still allows. */
  rate: { left: number };
}

export async function openSmtpFixture(
  limits: {
    submission?: Partial<ListenerLimits>;
    inbound?: Partial<ListenerLimits>;
    toml?: string;
    budget?: ByteBudget;
  } = {},
): Promise<SmtpFixture> {
  const { certFile, keyFile } = testAuthority().issue(['mail.appliance.example', '127.0.0.1']);
  const fixture = await openFixture({
    toml: `[smtp]
inbound = "127.0.0.1:0"
submission = ["127.0.0.1:0"]
submissions = ["127.0.0.1:0"]
tls_cert = ${JSON.stringify(certFile)}
tls_key = ${JSON.stringify(keyFile)}
${limits.toml ?? ''}`,
  });
  if (limits.budget !== undefined) Object.assign(fixture.ctx, { budget: limits.budget });
  const by = await fixture.sender();
  await fixture.verified(by, 'acme.example');
  const { token } = await createKey(fixture.ctx, by.account.id, {
    name: 'smtp',
    permission: 'sending_access',
  });
  const rate = { left: Infinity };
  const logWrites: Promise<void>[] = [];
  const { store } = fixture.ctx;
  const appendLogs = store.appendLogs.bind(store);
  store.appendLogs = (records) => {
    const write = appendLogs(records);
    logWrites.push(write);
    return write;
  };
  const server = new SubmissionServer(fixture.ctx, {
    queue: fixture.sink,
    rates: { take: () => ({ isAllowed: (rate.left -= 1) >= 0, retrySeconds: 1 }) },
    ...(limits.submission === undefined ? {} : { limits: limits.submission }),
  });
  const inboundServer = new InboundServer(
    fixture.ctx,
    new Reports(fixture.ctx, fixture.sink),
    limits.inbound,
  );
  const open = await server.start();
  const inbound = await inboundServer.start();
  const [submission] = open.submission;
  const [submissions] = open.submissions;
  if (submission === undefined || submissions === undefined || inbound === null) {
    throw new Error('a listener did not start');
  }
  return {
    ...fixture,
    by,
    token,
    submission,
    submissions,
    inbound,
    server,
    inboundServer,
    rate,
    logWrites,
    async close() {
      await Promise.all([server.stop(), inboundServer.stop()]);
      await fixture.close();
    },
  };
}
