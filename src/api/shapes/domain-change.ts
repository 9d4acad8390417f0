/**
 * What `PATCH /domains/{id}` takes: the settings that client libraries know, of which a domain here has none to change.
 *
 * Promises that a setting is accepted only where it says what is so already, and refused by name with the reason
 * otherwise (docs/contract.md C10.13). Never stores anything.
 */
import { Type, type Static } from '@sinclair/typebox';
import type { Fault } from './check.ts';
import { words } from './common.ts';

export const DomainChange = Type.Object(
  {
    open_tracking: Type.Optional(Type.Boolean({ description: 'Only false.' })),
    click_tracking: Type.Optional(Type.Boolean({ description: 'Only false.' })),
    tracking_subdomain: Type.Optional(Type.String({ description: 'Only empty.' })),
    tls: Type.Optional(words(['opportunistic', 'enforced'])),
    capabilities: Type.Optional(
      Type.Object(
        {
          sending: Type.Optional(words(['enabled', 'disabled'])),
          receiving: Type.Optional(words(['enabled', 'disabled'])),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false, title: 'ChangeDomain' },
);

const NO_TRACKING = 'this service does not track opens and clicks';

/** A fault for each setting that would change something; empty when nothing would. */
export function changeFaults(change: Static<typeof DomainChange>): Fault[] {
  const { open_tracking: opens, click_tracking: clicks, tls, capabilities } = change;
  const subdomain = change.tracking_subdomain ?? '';
  const refused: [path: string, isRefused: boolean, why: string][] = [
    ['open_tracking', opens === true, `cannot be turned on: ${NO_TRACKING}`],
    ['click_tracking', clicks === true, `cannot be turned on: ${NO_TRACKING}`],
    ['tracking_subdomain', subdomain !== '', `cannot be set: ${NO_TRACKING}`],
    [
      'tls',
      tls === 'enforced',
      'cannot be enforced for a domain: each receiver gets TLS where it offers it, and where DANE or MTA-STS demand it',
    ],
    [
      'capabilities.sending',
      capabilities?.sending === 'disabled',
      'cannot be disabled: remove the domain instead',
    ],
    [
      'capabilities.receiving',
      capabilities?.receiving === 'enabled',
      'cannot be enabled: this service does not receive email for accounts',
    ],
  ];
  return refused.flatMap(([path, isRefused, why]) =>
    isRefused ? [{ path, message: `${path} ${why}.`, isMissing: false }] : [],
  );
}
