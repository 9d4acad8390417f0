/**
 * How to get port 25 opened, for each hosting provider, which is known by the reverse DNS name of the machine's
 * address.
 *
 * The rows repeat what the providers' own documentation says. A provider that is not in the table gets the general
 * advice. Never guesses from anything but the name.
 */
import type { DoctorContext } from './finding.ts';

interface Provider {
  name: string;
  /** Ends of the reverse DNS names that the provider gives its machines. */
  suffixes: string[];
  advice: string;
}

const PROVIDERS: Provider[] = [
  {
    name: 'Amazon EC2',
    suffixes: ['.amazonaws.com'],
    advice:
      'Ask with the form "Request to remove email sending limitations": https://repost.aws/knowledge-center/ec2-port-25-throttle',
  },
  {
    name: 'Google Cloud',
    suffixes: ['.googleusercontent.com'],
    advice:
      'Google Cloud never opens port 25 outward; use a smarthost on 587 or 465: https://cloud.google.com/compute/docs/tutorials/sending-mail',
  },
  {
    name: 'Microsoft Azure',
    suffixes: ['.cloudapp.azure.com', '.cloudapp.net'],
    advice:
      'Azure opens port 25 for some subscriptions only; otherwise use a smarthost on 587: https://learn.microsoft.com/azure/virtual-network/troubleshoot-outbound-smtp-connectivity',
  },
  {
    name: 'DigitalOcean',
    suffixes: ['.digitalocean.com'],
    advice:
      'DigitalOcean blocks SMTP ports on Droplets; use a smarthost on 2525 or another provider: https://docs.digitalocean.com/support/why-is-smtp-blocked/',
  },
  {
    name: 'Hetzner',
    suffixes: ['.your-server.de', '.your-cloud.host'],
    advice:
      'Ask in the Cloud Console (Limits, "Unblock port 25 and 465") after the first paid invoice: https://docs.hetzner.com/cloud/servers/faq/#why-can-i-not-send-any-mails-from-my-server',
  },
  {
    name: 'Vultr',
    suffixes: ['.vultrusercontent.com', '.vultr.com'],
    advice:
      'Ask for removal in a support ticket: https://docs.vultr.com/support/products/compute/why-is-smtp-blocked',
  },
  {
    name: 'Akamai (Linode)',
    suffixes: ['.linodeusercontent.com', '.members.linode.com'],
    advice:
      'Ask in a support ticket that names the host name and the purpose: https://techdocs.akamai.com/cloud-computing/docs/send-email',
  },
  {
    name: 'Oracle Cloud',
    suffixes: ['.oraclevcn.com', '.oraclecloud.com'],
    advice:
      'Ask for a limit increase; tenancies made since 2021 have port 25 closed: https://docs.oracle.com/iaas/releasenotes/changes/f7e95770-9844-43db-916c-6ccbaf2cfe24/index.htm',
  },
  {
    name: 'Scaleway',
    suffixes: ['.scw.cloud', '.scaleway.com', '.poneytelecom.eu'],
    advice:
      'Verify your identity and enable SMTP in the security group: https://www.scaleway.com/en/docs/instances/how-to/send-emails-from-your-instance/',
  },
  {
    name: 'OVHcloud',
    suffixes: ['.ip-*.net', '.ip-*.eu', '.ovh.net', '.vps.ovh.net', '.vps.ovh.ca'],
    advice:
      'OVHcloud closes port 25 after spam reports; unblock the address in the control panel (Network, IP, Anti-spam): https://help.ovhcloud.com/csm/en-dedicated-servers-anti-spam-best-practices',
  },
  {
    name: 'UpCloud',
    suffixes: ['.upcloud.host'],
    advice: 'Ask support to open port 25: https://upcloud.com/docs/guides/smtp-best-practices/',
  },
];

const GENERAL =
  'Ask your hosting provider to open outgoing port 25 for this machine. Many do so on request; some never do.';

/** What to do about a blocked port 25 on the machine with these public addresses. */
export async function providerAdvice(ctx: DoctorContext, addresses: string[]): Promise<string> {
  for (const address of addresses) {
    const answer = await ctx.resolver.ptr(address);
    if (answer.kind !== 'found') continue;
    const provider = answer.records.map(providerOf).find((found) => found !== null);
    if (provider !== undefined && provider !== null) return `${provider.name}: ${provider.advice}.`;
  }
  return GENERAL;
}

/**
 * The provider whose machines have such names; null when no row fits. A `*` in a row stands for the rest of one label.
 */
export function providerOf(hostName: string): Provider | null {
  const name = hostName.toLowerCase().replace(/\.$/, '');
  const fits = (suffix: string): boolean => {
    const star = suffix.indexOf('*');
    if (star < 0) return name.endsWith(suffix);
    const at = name.lastIndexOf(suffix.slice(0, star));
    return (
      at >= 0 &&
      /^[0-9-]+\.[a-z]+$/.test(name.slice(at + star)) &&
      name.endsWith(suffix.slice(star + 1))
    );
  };
  return PROVIDERS.find((provider) => provider.suffixes.some(fits)) ?? null;
}
