/** The story's people and log rows, and its end: what retention, erasure and deletion leave. */
import { at, type Story } from './story.ts';

const PAGE = { limit: 10, after: null, before: null };

export async function tellPeople(story: Story): Promise<void> {
  for (const [index, name] of ['root', 'reader', 'root', 'third'].entries()) {
    const operator = {
      id: story.id(`operator ${index}`, index),
      name,
      role: index === 0 ? ('admin' as const) : ('read_only' as const),
      accountId: index === 0 ? null : story.id('shop'),
      passwordHash: `password ${index}`,
      sealedTotp: null,
      recoveryCodes: 0,
      createdAt: at(index),
      signedInAt: null,
    };
    await story.tell('createOperator', operator, 2);
  }
  const id = story.id('operator 0');
  await story.tell('setOperatorTotp', id, Buffer.of(5, 6), ['one', 'two', 'three']);
  await story.tell('takeRecoveryHash', id, 'two');
  await story.tell('takeRecoveryHash', id, 'two');
  for (const step of [7, 7, 6, 8]) await story.tell('takeTotpStep', id, step);
  await story.tell('noteSignIn', id, at(10));
  await story.tell('setOperatorPassword', story.id('operator 1'), 'changed');
  for (let index = 0; index < 4; index += 1) {
    const via = (['dashboard', 'command', 'api'] as const)[index % 3] ?? 'api';
    await story.tell('addAudit', {
      at: at(index),
      via,
      who: index % 2 === 0 ? 'root' : 'reader',
      action: `action ${index}`,
      target: `target ${index}`,
      accountId: index === 1 ? null : story.id('shop'),
      address: index === 2 ? null : '192.0.2.1',
    });
  }
  await story.tell(
    'appendLogs',
    [1, 2, 3, 4].map((index) => ({
      id: story.id(`log${index}`, 100 * index),
      accountId: story.id(index === 4 ? 'other' : 'shop'),
      keyId: index === 1 ? story.id('key') : null,
      keyName: index === 1 ? 'ci' : null,
      keyPermission: index === 2 ? ('sending_access' as const) : ('full_access' as const),
      isSandbox: index === 3,
      method: index === 2 ? 'GET' : 'POST',
      path: `/emails/${index}`,
      status: 199 + index,
      durationMs: index === 2 ? null : index,
      messageId: index === 1 ? story.id('m1') : null,
      userAgent: index === 2 ? null : `agent ${index}`,
      ip: index === 2 ? null : `192.0.2.${index}`,
      requestBody: index === 2 ? null : `{"to":"ann@gmail.com","n":${index}}`,
      responseBody: index === 2 ? null : `{"answer":${index}}`,
      createdAt: at(100 * index),
    })),
  );
}

export async function askPeople(story: Story): Promise<void> {
  await story.ask('operators');
  for (const name of ['operator 0', 'operator 1', 'operator 3'])
    await story.ask('operator', story.id(name));
  for (const name of ['root', 'reader', 'third']) await story.ask('operatorNamed', name);
  await story.ask('audit', { limit: 10, before: null, who: null });
  await story.ask('audit', { limit: 2, before: null, who: null });
  await story.ask('audit', { limit: 2, before: 3, who: null });
  await story.ask('audit', { limit: 10, before: null, who: 'reader' });
  const shop = story.id('shop');
  const filter = { ...PAGE, q: null, status: null, method: null };
  await story.ask('logs', shop, filter);
  await story.ask('logs', story.id('other'), filter);
  for (const q of ['emails/2', '/emails', 'agent', 'nothing'])
    await story.ask('logs', shop, { ...filter, q });
  await story.ask('logs', shop, { ...filter, status: 201 });
  await story.ask('logs', shop, { ...filter, method: 'GET' });
  await story.ask('logs', shop, { ...filter, keyId: story.id('key') });
  await story.ask('logs', shop, { ...filter, since: at(200) });
  await story.ask('logs', shop, { ...filter, until: at(200) });
  await story.ask('logs', shop, { ...filter, isSandboxOnly: true });
  await story.ask('logs', shop, { ...filter, limit: 1 });
  await story.ask('logs', shop, {
    ...filter,
    limit: 1,
    after: story.id('log3'),
  });
  await story.ask('logs', shop, {
    ...filter,
    limit: 1,
    before: story.id('log1'),
  });
  for (const index of [1, 2, 3, 4]) await story.ask('log', shop, story.id(`log${index}`));
}

/** What the operator does by hand, and an address that is erased; the caller asks for all that is left. */
export async function tellErasure(story: Story): Promise<void> {
  await story.tell('retryNow', { id: null, domain: 'nowhere.example' }, at(21_000));
  await story.tell('retryNow', { id: story.id('m2'), domain: null }, at(21_000));
  await story.tell('retryNow', { id: null, domain: 'e.example' }, at(21_001));
  await story.tell('releaseLeases', 'node', at(21_002));
  await story.tell('eraseAddress', 'bob@b.example', story.id('other'));
  await story.tell('eraseAddress', 'bob@b.example', story.id('shop'));
  await story.tell('eraseAddress', 'ann@gmail.com', story.id('other'));
}

/** What the passing of time takes away. */
export async function tellRetention(story: Story): Promise<void> {
  await story.tell('prepareDays', at(0));
  await story.tell('purgeLogs', story.id('shop'), at(200));
  await story.tell('purgeBodies', at(1000));
  await story.tell('purgeHistory', at(1000));
  await story.tell('purgeMessages', at(1000));
  await story.tell('purgeExpired', at(90_001));
  await story.tell('purgeAudit', at(2), 1);
  await story.tell('purgeAudit', at(2), 9);
  await story.tell('removeOperator', story.id('operator 1'));
  await story.tell('removeOperator', story.id('operator 1'));
}

/** An account goes; the caller asks for all that is left. */
export async function tellDeletion(story: Story): Promise<void> {
  await story.ask('sealedSecrets');
  await story.tell('closeAccount', story.id('shop'), 'it goes');
  await story.tell('removeAccount', story.id('shop'), ['a'], () => undefined);
  await story.ask('sealedSecrets');
}
