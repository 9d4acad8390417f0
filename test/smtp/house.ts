/** The flow house with its SMTP doors open on free ports, a key that may send, and a verified domain. */
import type { Listen } from '../../src/base/config.ts';
import type { Sender } from '../../src/flow/draft.ts';
import { createKey } from '../../src/flow/keys.ts';
import { Reports } from '../../src/flow/reports.ts';
import { InboundServer } from '../../src/smtp/inbound.ts';
import type { DoorLimits } from '../../src/smtp/limits.ts';
import { SubmissionServer } from '../../src/smtp/submission.ts';
import { openHouse, type House } from '../flow/house.ts';
import { testAuthority } from '../rig/certificates.ts';

export interface SmtpHouse extends House {
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

export async function openSmtpHouse(
  limits: { submission?: Partial<DoorLimits>; inbound?: Partial<DoorLimits>; toml?: string } = {},
): Promise<SmtpHouse> {
  const { certFile, keyFile } = testAuthority().issue(['mail.appliance.example', '127.0.0.1']);
  const house = await openHouse({
    toml: `[smtp]
inbound = "127.0.0.1:0"
submission = ["127.0.0.1:0"]
submissions = ["127.0.0.1:0"]
tls_cert = ${JSON.stringify(certFile)}
tls_key = ${JSON.stringify(keyFile)}
${limits.toml ?? ''}`,
  });
  const by = await house.sender();
  await house.verified(by, 'acme.example');
  const { token } = await createKey(house.ctx, by.account.id, {
    name: 'smtp',
    permission: 'sending_access',
  });
  const rate = { left: Infinity };
  const logWrites: Promise<void>[] = [];
  const { store } = house.ctx;
  const appendLogs = store.appendLogs.bind(store);
  store.appendLogs = (records) => {
    const write = appendLogs(records);
    logWrites.push(write);
    return write;
  };
  const server = new SubmissionServer(house.ctx, {
    queue: house.sink,
    rates: { take: () => ({ isAllowed: (rate.left -= 1) >= 0, retrySeconds: 1 }) },
    ...(limits.submission === undefined ? {} : { limits: limits.submission }),
  });
  const inboundServer = new InboundServer(
    house.ctx,
    new Reports(house.ctx, house.sink),
    limits.inbound,
  );
  const open = await server.start();
  const inbound = await inboundServer.start();
  const [submission] = open.submission;
  const [submissions] = open.submissions;
  if (submission === undefined || submissions === undefined || inbound === null) {
    throw new Error('a door did not open');
  }
  return {
    ...house,
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
      await house.close();
    },
  };
}
