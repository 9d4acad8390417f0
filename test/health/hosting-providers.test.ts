/** What an operator with a closed port 25 is told, by the names of all public addresses of the machine. */
import { expect, test } from 'bun:test';

import type { DoctorContext } from '../../src/health/finding.ts';
import { providerAdvice, providerOf } from '../../src/health/hosting-providers.ts';

const NAMES: Record<string, string[]> = {
  '192.0.2.1': ['mail.example.com'],
  '192.0.2.2': ['static.example.net', 'EC2-192-0-2-2.compute.amazonaws.com.'],
  '192.0.2.3': ['v4.upcloud.host'],
};

function adviceFor(...addresses: string[]): Promise<string> {
  const ptr = (address: string): Promise<object> => {
    const records = NAMES[address];
    return Promise.resolve(
      records === undefined ? { kind: 'nxdomain' } : { kind: 'found', records },
    );
  };
  return providerAdvice({ resolver: { ptr } } as unknown as DoctorContext, addresses);
}

test.each([
  [['192.0.2.2'], 'Amazon EC2: Ask with the form'],
  // An address without a name, and one with a name of the operator's own, leave it to the next.
  [['2001:db8::1', '192.0.2.2'], 'Amazon EC2: Ask with the form'],
  [['192.0.2.1', '192.0.2.3', '192.0.2.2'], 'UpCloud: Ask support'],
  [['192.0.2.1'], 'Ask your hosting provider'],
  [['2001:db8::1'], 'Ask your hosting provider'],
  [[], 'Ask your hosting provider'],
])('%j: %s', async (addresses, words) => {
  const advice = await adviceFor(...addresses);
  expect(advice).toStartWith(words);
  expect(advice).toEndWith('.');
  expect(advice).not.toContain('..');
});

test.each([
  [
    'ec2-3-4-5-6.compute-1.amazonaws.com',
    'Amazon EC2',
    'Ask with the form "Request to remove email sending limitations": https://repost.aws/knowledge-center/ec2-port-25-throttle',
  ],
  [
    '7.6.5.4.bc.googleusercontent.com',
    'Google Cloud',
    'Google Cloud never opens port 25 outward; use a smarthost on 587 or 465: https://cloud.google.com/compute/docs/tutorials/sending-mail',
  ],
  [
    'vm.westeurope.cloudapp.azure.com',
    'Microsoft Azure',
    'Azure opens port 25 for some subscriptions only; otherwise use a smarthost on 587: https://learn.microsoft.com/azure/virtual-network/troubleshoot-outbound-smtp-connectivity',
  ],
  ['vm.cloudapp.net', 'Microsoft Azure', 'Azure opens '],
  [
    'droplet.digitalocean.com',
    'DigitalOcean',
    'DigitalOcean blocks SMTP ports on Droplets; use a smarthost on 2525 or another provider: https://docs.digitalocean.com/support/why-is-smtp-blocked/',
  ],
  [
    'static.1.2.3.4.clients.your-server.de',
    'Hetzner',
    'Ask in the Cloud Console (Limits, "Unblock port 25 and 465") after the first paid invoice: https://docs.hetzner.com/cloud/servers/faq/#why-can-i-not-send-any-mails-from-my-server',
  ],
  ['static.1.2.your-cloud.host', 'Hetzner', 'Ask in '],
  [
    '1.2.3.4.vultrusercontent.com',
    'Vultr',
    'Ask for removal in a support ticket: https://docs.vultr.com/support/products/compute/why-is-smtp-blocked',
  ],
  ['1.2.3.4.vultr.com', 'Vultr', 'Ask for removal '],
  [
    '1-2-3-4.ip.linodeusercontent.com',
    'Akamai (Linode)',
    'Ask in a support ticket that names the host name and the purpose: https://techdocs.akamai.com/cloud-computing/docs/send-email',
  ],
  ['li12-34.members.linode.com', 'Akamai (Linode)', 'Ask in a support '],
  [
    'vm.sub.oraclevcn.com',
    'Oracle Cloud',
    'Ask for a limit increase; tenancies made since 2021 have port 25 closed: https://docs.oracle.com/iaas/releasenotes/changes/f7e95770-9844-43db-916c-6ccbaf2cfe24/index.htm',
  ],
  ['vm.oraclecloud.com', 'Oracle Cloud', 'Ask for a limit '],
  [
    '1-2-3-4.instances.scw.cloud',
    'Scaleway',
    'Verify your identity and enable SMTP in the security group: https://www.scaleway.com/en/docs/instances/how-to/send-emails-from-your-instance/',
  ],
  ['vm.scaleway.com', 'Scaleway', 'Verify '],
  ['1-2-3-4.rev.poneytelecom.eu', 'Scaleway', 'Verify '],
  [
    'ns3.ip-51-38-1.eu',
    'OVHcloud',
    'OVHcloud closes port 25 after spam reports; unblock the address in the control panel (Network, IP, Anti-spam): https://help.ovhcloud.com/csm/en-dedicated-servers-anti-spam-best-practices',
  ],
  ['ns3.ip-51-38-1.net', 'OVHcloud', 'OVHcloud '],
  // A name of the operator's own that begins alike.
  ['ns3.ip-x.ip-51-38-1.eu', 'OVHcloud', 'OVHcloud '],
  ['ns1.ovh.net', 'OVHcloud', 'OVHcloud '],
  ['vps-12ab.vps.ovh.net', 'OVHcloud', 'OVHcloud '],
  ['vps-12ab.vps.ovh.ca', 'OVHcloud', 'OVHcloud '],
  [
    'v4.upcloud.host',
    'UpCloud',
    'Ask support to open port 25: https://upcloud.com/docs/guides/smtp-best-practices/',
  ],
  ['V4.UpCloud.HOST.', 'UpCloud', 'Ask support '],
])('%s is of %s, with its advice', (host, name, advice) => {
  const found = providerOf(host);
  expect(found?.name).toBe(name);
  if (advice.endsWith(' ')) expect(found?.advice).toStartWith(advice);
  else expect(found?.advice).toBe(advice);
});

test.each([
  'amazonaws.com',
  'upcloud.host',
  'v4.upcloud.host.example',
  'ns3.ip-51-38-1.eu.example',
  'ns3.ip-51-38-1.com',
  'ns3.ip-x.eu',
  'ns3.ip-51-38-1.example.eu',
  'ns3.ip-51.38.eu',
  'ns3.xip-51-38-1.eu',
  'ns3.ip-51-38-1.xeu',
  'x.vps.ovh.example',
  '',
])('%j is of none that is known', (host) => {
  expect(providerOf(host)).toBeNull();
});

test('where no name tells the provider, the advice is for any of them', async () => {
  expect(await adviceFor('192.0.2.1')).toBe(
    'Ask your hosting provider to open outgoing port 25 for this machine. Many do so on request; some never do.',
  );
});
