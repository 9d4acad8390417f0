/** Look-ups of sites: how many at once, for whom, in which order, and what a failure becomes. */
import { expect, test } from 'bun:test';

import type { SiteResult } from '../../../src/flow/deliver/site.ts';
import { outcomeWithoutSession } from '../../../src/flow/outcome/kinds.ts';
import { SiteLookups } from '../../../src/flow/queue/site-lookups.ts';
import { Destination } from '../../../src/flow/queue/waiting.ts';

const NONE: SiteResult = {
  kind: 'none',
  outcome: outcomeWithoutSession('impossible', 'dns', 'no host'),
};

/** Look-ups that end when the test says so. */
function start() {
  const asked: string[] = [];
  const found: [string, SiteResult][] = [];
  const ends = new Map<string, PromiseWithResolvers<SiteResult>>();
  const lookups = new SiteLookups({
    sites: {
      find: (domain) => {
        asked.push(domain);
        const end = Promise.withResolvers<SiteResult>();
        ends.set(domain, end);
        return end.promise;
      },
    },
    found: ({ domain }, result) => void found.push([domain, result]),
  });
  const end = async (domain: string, result: SiteResult | Error | string = NONE): Promise<void> => {
    if (typeof result === 'string' || result instanceof Error) ends.get(domain)?.reject(result);
    else ends.get(domain)?.resolve(result);
    await new Promise((resolve) => setImmediate(resolve));
  };
  const add = (accountId: string, ...domains: string[]): void => {
    for (const domain of domains) lookups.add(new Destination(accountId, domain));
  };
  return { lookups, asked, found, end, add };
}

const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}`);

test('one account alone has eighty at once, and a newcomer begins at once beside it', async () => {
  const { asked, end, add } = start();
  add('a', ...names('a', 200));
  expect(asked).toEqual(names('a', 80));
  add('b', ...names('b', 30));
  expect(asked.slice(80)).toEqual(names('b', 16));
  // What one gives back goes to whoever has less than its share of what is free.
  await end('a0');
  expect(asked.slice(96)).toEqual(['b16']);
});

test('what has ended counts for nobody any more', async () => {
  const { asked, end, add } = start();
  add('a', ...names('first', 80));
  for (const domain of names('first', 80)) await end(domain);
  add('a', ...names('second', 90));
  expect(asked.slice(80)).toEqual(names('second', 80));
});

test('a hundred at once for all, and the next when one of them has ended', async () => {
  const { asked, end, add } = start();
  for (const account of names('account', 150)) add(account, `${account}.example`);
  const all = names('account', 150).map((account) => `${account}.example`);
  expect(asked).toEqual(all.slice(0, 100));
  await end('account7.example');
  expect(asked).toEqual(all.slice(0, 101));
  await end('account8.example', new Error('no'));
  expect(asked).toEqual(all.slice(0, 102));
});

test('what is found is told as it is found; a failure is an outcome that is tried again', async () => {
  const { found, end, add } = start();
  add('a', 'x', 'y', 'z');
  await end('z');
  await end('x', new Error('the resolver is gone'));
  await end('y', 'no error at all');
  expect(found).toEqual([
    ['z', NONE],
    [
      'x',
      { kind: 'none', outcome: outcomeWithoutSession('unreached', 'dns', 'the resolver is gone') },
    ],
    ['y', { kind: 'none', outcome: outcomeWithoutSession('unreached', 'dns', 'no error at all') }],
  ]);
});

test('accounts that wait are served one after the other', async () => {
  const { asked, end, add } = start();
  for (const account of names('first', 100)) add(account, `${account}.example`);
  add('a', 'a1', 'a2', 'a3');
  add('b', 'b1');
  add('c', 'c1', 'c2');
  for (const account of names('first', 6)) await end(`${account}.example`);
  expect(asked.slice(100)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
});
