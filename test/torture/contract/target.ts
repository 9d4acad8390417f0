/**
 * The appliance that the contract fuzzer talks to: the compiled binary in capture mode with DNS of the rig, and accounts
 * with a verified domain and one key of each kind.
 */
import { BinaryAppliance } from '../../rig/binary.ts';
import { startNames } from '../../rig/names.ts';

/** Accounts of which the fuzzer picks one for each request; each sends from its own domain. */
const ACCOUNTS = 3;

export interface Tenant {
  accountId: string;
  /** A verified domain, which no request of the fuzzer can remove. */
  domain: string;
  full: string;
  send: string;
  /** A full-access key of the sandbox. */
  test: string;
}

export interface Target {
  appliance: BinaryAppliance;
  tenants: Tenant[];
  stop(): Promise<void>;
}

const CONFIG = `[delivery]
mode = "capture"
[webhooks]
allow_networks = ["127.0.0.0/8"]
[[plans]]
id = "fast"
rate_per_second = 100_000
reads_per_minute = 10_000_000
writes_per_minute = 10_000_000
`;

export async function startTarget(): Promise<Target> {
  const names = await startNames();
  names.set('*.example.com', 'A', ['127.0.0.1']);
  const { host, port } = names.listen;
  const appliance = await BinaryAppliance.start({
    config: `${CONFIG}[dns]\nservers = ["${host}:${port}"]`,
  });
  const tenants: Tenant[] = [];
  for (let number = 1; number <= ACCOUNTS; number += 1) {
    const account = `tenant-${number}`;
    const made = await appliance.json(['account', 'create', account, '--plan', 'fast']);
    const key = async (...flags: string[]): Promise<string> => {
      const args = ['key', 'create', '--account', account, '--name', 'fuzz', ...flags];
      return String((await appliance.json(args))['token']);
    };
    const full = await key('--permission', 'full_access');
    const domain = `shop${number}.example.com`;
    const as = { authorization: `Bearer ${full}` };
    const added = await appliance.api('POST', '/domains', { name: domain }, as);
    const { id, records } = (await added.json()) as {
      id: string;
      records: { name: string; type: 'TXT' | 'CNAME'; value: string }[];
    };
    for (const record of records) names.set(record.name, record.type, [record.value]);
    const checked = await appliance.api('POST', `/domains/${id}/verify`, undefined, as);
    const { status } = (await checked.json()) as { status: string };
    if (status !== 'verified') throw new Error(`${domain} was not verified`);
    const send = await key('--permission', 'sending_access');
    const test = await key('--permission', 'full_access', '--test');
    tenants.push({ accountId: String(made['id']), domain, full, send, test });
  }
  return {
    appliance,
    tenants,
    async stop() {
      await appliance.stop();
      await names.stop();
    },
  };
}
