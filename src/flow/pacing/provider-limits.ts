/**
 * Who runs a mail host, and what that provider accepts from one address: connections, messages per connection, rate.
 *
 * Promises one set of limits for every domain that a provider hosts: a provider is recognised by the end of the MX
 * host's name. The operator's own rows (`delivery.providers`) come first. Data and its look-up only; cannot fail. A new
 * provider is one more row in `PROVIDERS`, with the page that states its limits.
 */
import type { Provider } from '../../base/config.ts';
import { PROVIDER_HOSTS } from '../../base/provider-hosts.ts';

/** What is not in the table: Postfix's default_destination_concurrency_limit, and sessions of 100 messages. */
export const OTHERS: Provider = {
  name: '',
  mx: [],
  connections: 20,
  messagesPerConnection: 100,
  messagesPerMinute: null,
  scope: null,
};

/**
 * Connections and messages a connection as other mail systems ship them for these hosts (KumoMTA's
 * shaping file names the providers' own pages); the rates are ours, for one address of fair reputation.
 */
const PROVIDERS: readonly Provider[] = [
  {
    // https://support.google.com/mail/answer/81126
    name: 'Gmail',
    mx: [...PROVIDER_HOSTS.Gmail],
    connections: 10,
    messagesPerConnection: 50,
    messagesPerMinute: 1_800,
    scope: null,
  },
  {
    // https://sendersupport.olc.protection.outlook.com/pm/policies
    name: 'Outlook',
    mx: [...PROVIDER_HOSTS.Outlook],
    connections: 5,
    messagesPerConnection: 50,
    messagesPerMinute: 600,
    scope: null,
  },
  {
    name: 'Office 365',
    mx: [...PROVIDER_HOSTS['Office 365']],
    connections: 10,
    messagesPerConnection: 50,
    messagesPerMinute: 1_200,
    scope: null,
  },
  {
    // https://senders.yahooinc.com/best-practices: 20 messages a connection.
    name: 'Yahoo',
    mx: [...PROVIDER_HOSTS.Yahoo],
    connections: 5,
    messagesPerConnection: 20,
    messagesPerMinute: 600,
    scope: null,
  },
  {
    // https://support.apple.com/en-us/102322
    name: 'Apple',
    mx: [...PROVIDER_HOSTS.Apple],
    connections: 10,
    messagesPerConnection: 5,
    messagesPerMinute: 600,
    scope: null,
  },
];

/** The limits for an MX host (lower case); `overrides` of the config come before the table. */
export function limitsFor(host: string, overrides: readonly Provider[]): Provider {
  const isHost = ({ mx }: Provider): boolean =>
    mx.some((end) => host === end || host.endsWith(end.startsWith('.') ? end : `.${end}`));
  return overrides.find(isHost) ?? PROVIDERS.find(isHost) ?? OTHERS;
}
