/** The host check asks every group of questions, in the order in which its findings are read, and hands each on as it comes. */
import { afterEach, expect, mock, spyOn, test } from 'bun:test';

import * as config from '../../src/health/config.ts';
import * as database from '../../src/health/database.ts';
import { examine } from '../../src/health/doctor.ts';
import { type DoctorContext, type Finding, ok } from '../../src/health/finding.ts';
import * as identity from '../../src/health/identity.ts';
import * as machine from '../../src/health/machine.ts';
import * as network from '../../src/health/network.ts';
import * as resolver from '../../src/health/resolver.ts';
import * as smarthost from '../../src/health/smarthost.ts';

const ADDRESSES = ['192.0.2.1', '2001:db8::1'];
const GROUPS = ['machine', 'config', 'database', 'resolver', 'identity', 'ports', 'smarthost'];
const ALL = [...GROUPS, 'blocklists', 'clock'];

afterEach(() => mock.restore());

test.each([true, false])('names of the internet are resolved: %p', async (isResolving) => {
  const asked: Record<string, unknown[]> = {};
  const two = (name: string): Finding[] => [ok(name, 'one'), ok(name, 'two')];
  const answer =
    <T>(name: string, made: (findings: Finding[]) => T) =>
    (...given: unknown[]): Promise<T> => {
      asked[name] = given;
      return Promise.resolve(made(two(name)));
    };
  const list = (findings: Finding[]): Finding[] => findings;
  spyOn(machine, 'examineMachine').mockImplementation(answer('machine', list));
  spyOn(config, 'examineConfig').mockImplementation(answer('config', list));
  spyOn(database, 'examineDatabase').mockImplementation(answer('database', list));
  spyOn(resolver, 'examineResolver').mockImplementation(
    answer('resolver', (findings) => ({ findings, isResolving })),
  );
  spyOn(identity, 'examineIdentity').mockImplementation(
    answer('identity', (findings) => ({ findings, addresses: ADDRESSES })),
  );
  spyOn(network, 'examinePorts').mockImplementation(answer('ports', list));
  spyOn(smarthost, 'examineSmarthost').mockImplementation(answer('smarthost', list));
  spyOn(network, 'examineBlocklists').mockImplementation(answer('blocklists', list));
  spyOn(network, 'examineClock').mockImplementation(answer('clock', list));

  const ctx = { config: {} } as unknown as DoctorContext;
  const told: Finding[] = [];
  const found = await examine(ctx, (one) => told.push(one));
  expect(found).toEqual(ALL.flatMap(two));
  expect(told).toEqual(found);
  expect(asked).toEqual({
    ...Object.fromEntries(ALL.map((name) => [name, [ctx]])),
    ports: [ctx, isResolving, ADDRESSES],
    blocklists: [ctx, isResolving, ADDRESSES],
    clock: [ctx, isResolving],
  });
});
