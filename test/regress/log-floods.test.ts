/**
 * Mail and complaints that nobody asked for once wrote a line of the log each, of any length: a flood filled the disk and
 * buried what the operator looks for.
 */
import { expect, test } from 'bun:test';

import { startRigAppliance } from '../rig/appliance.ts';
import { RawClient } from '../smtp/raw-client.ts';

const FLOOD = 60;
/** As many lines of an event as are written in a minute, and some for a minute that begins meanwhile. */
const LINES_MAX = 40;

const COMPLAINT = [
  'Content-Type: multipart/report; report-type=feedback-report; boundary=b',
  '',
  '--b',
  'Content-Type: message/feedback-report',
  '',
  `Feedback-Type: abuse`,
  '',
  '--b',
  'Content-Type: message/rfc822',
  '',
  `Feedback-ID: ${'x'.repeat(100_000)}`,
  '',
  '--b--',
].join('\r\n');

test('a flood of letters and complaints on port 25 is a few short lines and a count', async () => {
  const rig = await startRigAppliance({ config: '[smtp]\ninbound = "127.0.0.1:0"' });
  const [host = '', port] = (rig.appliance.addresses.inbound ?? '').split(':');
  const client = await RawClient.open({ host, port: Number(port) });
  await client.reply();
  await client.command('EHLO flood.example');
  for (let at = 0; at < FLOOD; at += 1) {
    for (const content of ['Subject: letter\r\n\r\nHello', COMPLAINT]) {
      await client.command('MAIL FROM:<>');
      expect(await client.command('RCPT TO:<abuse@mail.rig.test>')).toStartWith('250');
      await client.command('DATA');
      expect(await client.command(`${content}\r\n.`)).toStartWith('250');
    }
  }
  client.close();
  await rig.stop();
  for (const event of ['operator_mail_received', 'complaint_unmatched']) {
    const lines = rig.log.items.filter((line) => line.event === event);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThanOrEqual(LINES_MAX);
    expect(Math.max(...lines.map((line) => JSON.stringify(line).length))).toBeLessThan(2_000);
    expect(lines[0]?.['peer']).toBe('127.0.0.1');
    const counts = rig.log.items.filter(
      (line) => line.event === 'lines_left_out' && line['of'] === event,
    );
    const leftOut = counts.reduce((sum, line) => sum + Number(line['count']), 0);
    expect(lines.length + leftOut).toBe(FLOOD);
  }
}, 60_000);
