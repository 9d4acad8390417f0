/** A real Postfix receives one message of the compiled binary over TLS, and its own log says so. */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import PostalMime from 'postal-mime';

import { verifyWithDkimpy } from '../rig/dkim-verifier.ts';
import { startPostfix } from '../rig/postfix.ts';
import type { Postfix } from '../rig/postfix.ts';
import { describeWith } from '../rig/programs.ts';
import { startWorld } from '../rig/world.ts';
import type { World } from '../rig/world.ts';

/** Dots where SMTP needs them doubled, and no line end at the end. */
const TEXT = 'A line.\n.\n.dots at the start\nand an end without a line end';

describeWith(['root', 'postfix', 'openssl', 'python3-dkim'], 'a real Postfix', () => {
  let postfix: Postfix;
  let world: World;

  beforeAll(async () => {
    postfix = await startPostfix('mx.postfix.test', ['postfix.test']);
    world = await startWorld({ port: postfix.port });
    world.names.set('postfix.test', 'MX', ['10 mx.postfix.test']);
    world.names.set('mx.postfix.test', 'A', [postfix.host]);
  });

  afterAll(async () => {
    await world.stop();
    postfix.stop();
  });

  test('takes a message over TLS; its bytes still verify behind it', async () => {
    const sent = await world.appliance.api('POST', '/emails', {
      from: 'hello@example.org',
      to: 'root@postfix.test',
      subject: 'Für Postfix',
      text: TEXT,
    });
    expect(sent.status).toBe(200);
    const stored = await postfix.firstMessage();

    // Another process of its own writes its log.
    while (!/TLS connection established from .*: TLSv1\.3/.test(postfix.log())) await Bun.sleep(20);
    // Postfix writes what it took with bare LF and its own headers in front; the signed part is as it was.
    const text = stored.toString('latin1').replaceAll(/\r?\n/g, '\r\n');
    expect(text).toMatch(/^Return-Path: <b-[0-9a-f-]+@send\.example\.org>/);
    expect(text).toContain('with ESMTPS');
    expect((await PostalMime.parse(stored)).text?.trimEnd()).toBe(TEXT);
    const signed = text.slice(text.indexOf('DKIM-Signature:'));
    expect(await verifyWithDkimpy(Buffer.from(signed, 'latin1'), world.records)).toBe(true);
  });
});
