/**
 * `send`, `tail`, `email`, `log` and `webhook add|test` on the compiled binary: what reaches a receiver, what is printed
 * for people and programs, and with which exit code each ends.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { Arrivals } from '../rig/arrivals.ts';
import { BINARY, BinaryAppliance } from '../rig/binary.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

const ID = /^[0-9a-f-]{36}$/;
const FROM = ['--from', 'Shop <hello@example.org>'];

interface TailLine {
  type: string;
  email_id: string;
  account: string;
  recipient: string | null;
  reason: string | null;
}

/** `tail --json` as a process, with its lines; resolves when it follows. */
async function startTail({ appliance }: World, ...args: string[]) {
  const child = Bun.spawn([BINARY, 'tail', '--json', '--config', appliance.made.config, ...args], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const lines = new Arrivals<TailLine>('events');
  const said = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  expect((await said.read()).value).toContain('Waiting for events');
  const out = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  void (async () => {
    let text = '';
    for (let part = await out.read(); !part.done; part = await out.read()) {
      const whole = (text + part.value).split('\n');
      text = whole.pop() ?? '';
      for (const line of whole) lines.push(JSON.parse(line) as TailLine);
    }
  })();
  return { child, lines, closePipe: () => out.cancel() };
}

describeWith(['openssl'], 'an operator who sends', () => {
  let world: World;
  const send = (...args: string[]) => world.appliance.run(['send', ...FROM, ...args]);

  beforeAll(async () => {
    world = await startWorld();
  });

  afterAll(() => world.stop());

  test('the id alone is printed, and the email arrives with all that was given', async () => {
    const file = join(world.appliance.folder, 'invoice.txt');
    writeFileSync(file, 'Total: 7');
    const words =
      '--to a@example.net --to b@example.net --cc c@example.net --text Thanks. --tag kind=order --wait';
    const rest = [
      '--subject',
      'Your order',
      '--html',
      '<p>Thanks.</p>',
      '--header',
      'X-Ticket: 17',
    ];
    const sent = await send(...words.split(' '), ...rest, '--attachment', file);
    const id = sent.stdout.trim();
    expect([sent.code, id]).toEqual([0, expect.stringMatching(ID)]);
    expect(sent.stderr).toContain('c@example.net is delivered');
    const [message] = await world.receiver.messages.atLeast(1);
    const text = message?.bytes.toString() ?? '';
    for (const part of ['From: Shop <hello@example.org>', 'Subject: Your order', 'X-Ticket: 17']) {
      expect(text).toContain(part);
    }
    expect(text).toContain('invoice.txt');
    const shown = await world.appliance.json(['email', 'show', id]);
    expect(shown['message']).toMatchObject({
      key_id: null,
      status: 'delivered',
      tags: [{ name: 'kind', value: 'order' }],
    });
    const types = (shown['events'] as { type: string }[]).map(({ type }) => type);
    expect(types.filter((type) => type === 'email.delivered')).toHaveLength(3);
    const forPeople = await world.appliance.run(['email', 'show', id]);
    expect(forPeople.stdout).toContain('Your order');
    expect(forPeople.stdout.split('\n').filter((line) => Bun.stringWidth(line) > 80)).toEqual([]);
  });

  test('the text comes from standard input, and a refusal at the receiver ends a wait with 1', async () => {
    world.receiver.script.rcpt = () => '550 5.1.1 No such user';
    const words = ['send', ...FROM, '--to', 'gone@example.net', '--subject', 'Hello', '--wait'];
    const sent = await world.appliance.run(words, 'From a pipe.\n');
    world.receiver.script.rcpt = () => null;
    expect([sent.code, sent.stdout.trim()]).toEqual([1, expect.stringMatching(ID)]);
    expect(sent.stderr).toContain('550 5.1.1');
    const again = await world.appliance.run([...words, '--json'], 'From a pipe.\n');
    expect([again.code, again.json()]).toMatchObject([
      1,
      { status: 'suppressed', recipients: [{ address: 'gone@example.net' }] },
    ]);
  });

  test('a wait ends with 1 when one of several recipients did not get it', async () => {
    world.receiver.script.rcpt = (to) =>
      to.startsWith('nobody@') ? '550 5.1.1 No such user' : null;
    const mail = ['--to', 'one@example.net', '--to', 'nobody@example.net', '--subject', 'Hello'];
    const sent = await send(...mail, '--text', 'x', '--wait');
    world.receiver.script.rcpt = () => null;
    expect(sent.code).toBe(1);
    expect(sent.stderr).toContain('one@example.net is delivered');
    expect(sent.stderr).toContain('nobody@example.net is bounced');
  });

  test('a wait tells delays, and ends when the mail is through', async () => {
    world.receiver.script.rcpt = () => '451 4.7.1 Come back later';
    const config = ['--config', world.appliance.made.config];
    const mail = ['--to', 'later@example.net', '--subject', 'Hi', '--text', 'x', '--wait'];
    const child = Bun.spawn([BINARY, 'send', ...config, ...FROM, ...mail], {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    });
    let told = '';
    for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) {
      const isFirst = !told.includes('Come back later');
      told += part;
      if (!isFirst || !told.includes('Come back later')) continue;
      world.receiver.script.rcpt = () => null;
      await world.appliance.json(['queue', 'retry', '--domain', 'example.net']);
    }
    const printed = (await new Response(child.stdout).text()).trim();
    expect([await child.exited, printed]).toEqual([0, expect.stringMatching(ID)]);
    expect(told).toContain('later@example.net is delivered');
  });

  test('what the API would refuse is refused with its reason', async () => {
    const content = ['--subject', 'Hi', '--text', 'x'];
    const other = ['send', '--from', 'a@other.example', '--to', 'a@example.net', ...content];
    const unverified = await world.appliance.run(other);
    expect([unverified.code, unverified.stdout]).toEqual([1, '']);
    expect(unverified.stderr).toContain('other.example');
    const nobody = await send('--to', 'nobody', ...content);
    expect([nobody.code, nobody.stderr]).toEqual([1, expect.stringContaining('to[0]')]);
    const both = await send('--to', 'a@example.net', ...content, '--text-file', '-');
    expect(both.code).toBe(64);
    const none = await send('--subject', 'Hi', '--text', 'x');
    expect([none.code, none.stderr]).toEqual([64, expect.stringContaining('Missing option --to')]);
    for (const pair of [
      ['--tag', 'kind'],
      ['--tag', '=order'],
      ['--header', 'X-Order'],
      ['--header', ': 7'],
    ]) {
      const half = await send('--to', 'a@example.net', ...content, ...pair);
      expect([pair, half.code, half.stderr]).toEqual([
        pair,
        64,
        expect.stringContaining(`${pair[0]} must be written NAME`),
      ]);
    }
    const missing = await send('--to', 'a@example.net', ...content, '--attachment', '/nowhere');
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('/nowhere')]);
  });

  test('tail shows the events of its filter alone, until its pipe is closed', async () => {
    await world.appliance.json(['account', 'create', 'other']);
    const ofDomain = await startTail(world, '--domain', 'sub.example.net', '--account', 'default');
    const ofOther = await startTail(world, '--account', 'other');
    const delivered = await startTail(world, '--status', 'delivered');
    const mail = ['--account', 'default', '--subject', 'Hi', '--text', 'x', '--wait'];
    const elsewhere = (await send('--to', 'a@example.net', ...mail)).stdout.trim();
    const there = (await send('--to', 'a@sub.example.net', ...mail)).stdout.trim();
    await ofDomain.lines.first(({ type }) => type === 'email.delivered');
    await delivered.lines.first(({ email_id: id }) => id === there);
    expect(new Set(ofDomain.lines.items.map((line) => line.email_id))).toEqual(new Set([there]));
    expect(ofDomain.lines.items.map(({ type }) => type)).toEqual([
      'email.queued',
      'email.sent',
      'email.delivered',
    ]);
    expect(delivered.lines.items.map(({ type, email_id: id }) => [type, id])).toEqual([
      ['email.delivered', elsewhere],
      ['email.delivered', there],
    ]);
    expect(delivered.lines.items[1]).toMatchObject({
      account: 'default',
      recipient: 'a@sub.example.net',
      reason: expect.stringContaining('250'),
    });
    expect(ofOther.lines.items).toEqual([]);
    await delivered.closePipe();
    await send('--to', 'a@example.net', ...mail);
    expect(await delivered.child.exited).toBe(0);
    for (const { child } of [ofDomain, ofOther]) child.kill('SIGINT');
  });

  test('lists of emails and requests, in pages', async () => {
    const account = ['--account', 'default'];
    const page = await world.appliance.json(['email', 'list', '--limit', '1', ...account]);
    const [first] = page['data'] as { id: string }[];
    expect([page['has_more'], first?.id]).toEqual([true, expect.stringMatching(ID)]);
    const after = ['email', 'list', '--limit', '1', '--after', first?.id ?? '', ...account];
    const [second] = (await world.appliance.json(after))['data'] as { id: string }[];
    expect(second?.id).not.toBe(first?.id);
    const found = await world.appliance.run([
      'email',
      'list',
      '--search',
      'your ORDER',
      ...account,
    ]);
    expect(found.stdout).toContain('Your order');
    expect(found.stdout.split('\n').filter((line) => Bun.stringWidth(line) > 80)).toEqual([]);
    await world.appliance.api('GET', '/emails/nothing');
    // Writes what the log still has in memory.
    await world.appliance.api('GET', '/logs');
    const missing = ['log', 'list', '--status', '404', '--method', 'get', '--search', 'nothing'];
    const rows = await world.appliance.json([...missing, ...account]);
    expect(rows['data']).toMatchObject([{ path: '/emails/nothing', status: 404, method: 'GET' }]);
    expect((await world.appliance.run(['log', 'list', ...account])).stdout).toContain('/emails/');
    const wrong = await world.appliance.run(['log', 'list', '--status', 'bad', ...account]);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('--status must be')]);
  });

  test('an endpoint is added, tested and called', async () => {
    const account = ['--account', 'default'];
    const add = ['webhook', 'add', world.hook.url, '--event', 'email.delivered', ...account];
    const made = await world.appliance.json(add);
    expect(made['signing_secret']).toStartWith('whsec_');
    const id = String(made['id']);
    const tested = await world.appliance.json(['webhook', 'test', id, ...account]);
    expect(tested).toMatchObject({ ok: true, status_code: 200 });
    world.hook.script.answer = () => ({ status: 500, headers: {} });
    const failed = await world.appliance.run(['webhook', 'test', id, ...account]);
    expect([failed.code, failed.stdout]).toEqual([1, expect.stringContaining('500')]);
    const refused = await world.appliance.run(['webhook', 'add', 'http://x.example', ...account]);
    expect(refused.code).toBe(1);
  });
});

test('without a server an email is accepted, and nothing can be watched', async () => {
  const appliance = await BinaryAppliance.create();
  try {
    const words = ['send', '--from', 'a@example.org', '--to', 'b@example.net', '--subject', 'Hi'];
    const sent = await appliance.run([...words, '--sandbox'], 'Hello.');
    expect([sent.code, sent.stdout.trim()]).toEqual([0, expect.stringMatching(ID)]);
    const list = await appliance.json(['email', 'list']);
    expect(list['data']).toMatchObject([{ id: sent.stdout.trim() }]);
    const waited = await appliance.run([...words, '--sandbox', '--wait'], 'Hello.');
    expect([waited.code, waited.stderr]).toEqual([1, expect.stringContaining('No server')]);
    const tail = await appliance.run(['tail']);
    expect([tail.code, tail.stderr]).toEqual([1, expect.stringContaining('No server')]);
  } finally {
    await appliance.stop();
  }
});
