/** The story's accounts and what they own besides mail: keys, settings, domains. */
import { at, type Story } from './story.ts';

export async function tellAccounts(story: Story): Promise<void> {
  const rows = ['shop', 'other', 'empty'].map((name, index) => ({
    id: story.id(name, index),
    name,
    plan: 'unlimited',
    status: 'active' as const,
    statusReason: null,
    createdAt: at(index),
  }));
  for (const row of rows) await story.tell('createAccount', row);
  await story.tell('createAccount', {
    id: story.id('twin', 9),
    name: 'shop',
    plan: 'p',
    status: 'active',
    statusReason: null,
    createdAt: at(9),
  });
  await story.tell('setAccountStatus', story.id('other'), 'paused', 'too many bounces');
  await story.tell('setAccountStatus', story.id('twin'), 'paused', null);
  await story.tell('changeAccount', story.id('empty'), {
    name: 'shop',
    plan: 'small',
  });
  await story.tell('changeAccount', story.id('empty'), {
    name: 'void',
    plan: 'small',
  });
  await story.tell('changeAccount', story.id('empty'), {
    name: 'void',
    plan: 'large',
  });
  await story.tell('changeAccount', story.id('twin'), {
    name: 'twin',
    plan: 'small',
  });
  const keys = [
    ['key', 'shop', false],
    ['key2', 'shop', false],
    ['key3', 'shop', true],
    ['key4', 'other', false],
  ] as const;
  for (const [index, [name, account, isTest]] of keys.entries()) {
    const key = {
      id: story.id(name, 10 + index),
      accountId: story.id(account),
      name,
      permission: index === 1 ? ('sending_access' as const) : ('full_access' as const),
      isTest,
      prefix: `pr_${index}`,
      last4: `abc${index}`,
      lastUsedAt: null,
      revokedAt: null,
      createdAt: at(10 + index),
    };
    await story.tell('createKey', key, Buffer.from(`hash of ${name}`), 2);
    const id = story.id(`${name} too many`, 20);
    await story.tell('createKey', { ...key, id }, Buffer.from(id), 1);
  }
  await story.tell('touchKeys', [
    { id: story.id('key'), usedAt: at(50) },
    { id: story.id('key2'), usedAt: at(51) },
  ]);
  await story.tell('touchKeys', [{ id: story.id('key'), usedAt: at(49) }]);
  await story.tell('renameKey', story.id('shop'), story.id('key3'), 'renamed');
  await story.tell('renameKey', story.id('other'), story.id('key2'), 'of another');
  await story.tell('revokeKey', story.id('other'), story.id('key2'), at(60));
  await story.tell('revokeKey', story.id('shop'), story.id('key2'), at(61));
  await story.tell('revokeKey', story.id('shop'), story.id('key2'), at(62));
  for (const email of ['yes@b.example', 'yes@b.example', 'also@b.example']) {
    await story.tell('addConfirmedRecipient', story.id('shop'), email, at(70));
  }
  await story.tell('addConfirmedRecipient', story.id('other'), 'yes@b.example', at(71));
  await story.tell('removeConfirmedRecipient', story.id('other'), 'also@b.example');
  await story.tell('setSetting', 'a', 'one');
  await story.tell('setSetting', 'b', 'two', { isRemembered: true });
  await story.tell('setSetting', 'a', 'three');
  await story.tell('setSetting', 'b', null);
}

export async function askAccounts(story: Story): Promise<void> {
  await story.ask('accounts');
  for (const name of ['shop', 'void', 'empty', story.id('other'), story.id('twin')])
    await story.ask('account', name);
  for (const name of ['shop', 'other', 'empty']) {
    const id = story.id(name);
    await story.ask('keys', id);
    await story.ask('confirmedRecipients', id, { limit: 2, after: '' });
    await story.ask('confirmedRecipients', id, { limit: 2, after: 'yes@b.example' });
    await story.ask('confirmed', id, ['yes@b.example', 'no@b.example']);
  }
  for (const name of ['key', 'key2', 'key3', 'key4', 'none'])
    await story.ask('keyByHash', Buffer.from(`hash of ${name}`));
  for (const name of ['a', 'b', 'c']) await story.ask('setting', name);
}

export async function tellDomains(story: Story): Promise<void> {
  const names = [
    ['domain1', 'shop'],
    ['domain2', 'shop'],
    ['domain3', 'shop'],
    ['domain4', 'other'],
  ] as const;
  for (const [index, [name, account]] of names.entries()) {
    const domain = {
      id: story.id(name, 80 + index),
      accountId: story.id(account),
      name: `${name}.example`,
      status: 'pending' as const,
      selector: `s${index}`,
      dkimPublicKey: `public ${index}`,
      sealedDkimKey: Buffer.of(index, 255),
      recordStates: { DKIM: 'pending' as const, SPF: 'not_started' as const },
      createdAt: at(80 + index),
      verifiedAt: null,
      lastCheckedAt: null,
      nextCheckAt: at(200 - index),
      failingSince: null,
      pendingSince: at(80 + index),
      deletedAt: null,
    };
    await story.tell('createDomain', domain, 3);
    await story.tell('createDomain', { ...domain, id: story.id(`${name} twin`, 89) }, 9);
    await story.tell(
      'createDomain',
      { ...domain, id: story.id(`${name} one more`, 89), name: 'more.example' },
      1,
    );
  }
  await story.tell('finishDomainCheck', {
    id: story.id('domain1'),
    now: at(90),
    status: 'verified',
    recordStates: { DKIM: 'verified', SPF: 'pending' },
    verifiedAt: at(91),
    nextCheckAt: at(92),
    failingSince: at(93),
    pendingSince: at(94),
    seen: {
      DKIM: {
        at: 's0._domainkey',
        values: ['v=DKIM1', 'p='],
        problem: 'empty',
      },
    },
  });
  for (const name of ['domain1', 'domain4']) {
    const key = {
      selector: 'next',
      dkimPublicKey: 'next public',
      sealedDkimKey: Buffer.of(7),
      since: at(95),
    };
    await story.tell('addNextDkimKey', story.id(name), key);
  }
  await story.tell('activateDkimKey', story.id('domain1'), 'wrong', at(96));
  await story.tell('activateDkimKey', story.id('domain1'), 'next', at(97));
  await story.tell('deleteDomain', story.id('other'), story.id('domain3'), at(98));
  await story.tell('deleteDomain', story.id('shop'), story.id('domain3'), at(98));
  await story.tell('deleteDomain', story.id('shop'), story.id('domain3'), at(99));
}

export async function askDomains(story: Story): Promise<void> {
  for (const account of ['shop', 'other', 'empty']) await story.ask('domains', story.id(account));
  for (const name of ['domain1', 'domain2', 'domain3', 'domain4']) {
    const id = story.id(name);
    await story.ask('domain', story.id('shop'), id);
    await story.ask('seenRecords', story.id('shop'), id);
    await story.ask('domainByName', story.id('shop'), `${name}.example`);
    await story.ask('domainForSigning', id);
    await story.ask('nextDkimKey', id);
    await story.ask('previousDkimKey', id);
  }
  for (const [now, limit] of [
    [91, 9],
    [92, 9],
    [197, 9],
    [198, 9],
    [199, 9],
    [300, 2],
  ] as const) {
    await story.ask('domainsDue', story.id('shop'), at(now), limit);
    await story.ask('accountsToCheck', at(now), null);
  }
}
