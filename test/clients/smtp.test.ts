/**
 * Mail libraries over SMTP, unchanged: Python's smtplib, nodemailer, Symfony Mailer, Laravel's mail package and Rails'
 * Action Mailer, each over STARTTLS and over implicit TLS, with a certificate that each verifies by itself.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';

import PostalMime from 'postal-mime';

import { describeWith } from '../rig/programs.ts';
import type { Need } from '../rig/programs.ts';
import { jsonOf, PACKAGES, programFile, runClient, startClientWorld } from './client-rig.ts';
import type { ClientWorld } from './client-rig.ts';

let world: ClientWorld;
beforeAll(async () => {
  world = await startClientWorld();
}, 30_000);
afterAll(() => world.stop());

const CLIENTS: [name: string, needs: Need[], command: string[]][] = [
  ['smtplib', ['python3'], ['/usr/bin/python3', programFile('smtp_python.py')]],
  ['nodemailer', [], ['node', programFile('smtp-node.cjs')]],
  ['symfony', ['php', 'php-symfony-mailer'], ['php', programFile('smtp-symfony.php')]],
  ['laravel', ['php', 'php-illuminate-mail'], ['php', programFile('smtp-laravel.php')]],
  ['rails', ['ruby-actionmailer'], ['ruby', programFile('smtp-rails.rb')]],
];

/** Runs the client; gives the code and text that it was refused with for a domain that is not the account's. */
async function submit(command: string[]): Promise<[code: number, text: string]> {
  const { caFile, domain, starttlsPort, tlsPort } = world;
  const env = {
    NODE_PATH: PACKAGES,
    NODE_EXTRA_CA_CERTS: caFile,
    SSL_CERT_FILE: caFile,
    DOMAIN: domain,
    STARTTLS_PORT: String(starttlsPort),
    TLS_PORT: String(tlsPort),
    LANG: 'C.UTF-8',
  };
  const { refused } = jsonOf(await runClient(world, command, { env })) as {
    refused: [number, string];
  };
  return refused;
}

for (const [name, needs, command] of CLIENTS) {
  describeWith(needs, name, () => {
    test('submits both ways, and understands a refusal', async () => {
      const refused = await submit(command);
      expect(refused).toEqual([550, expect.stringContaining('nobody.example is not one of')]);
      for (const way of ['STARTTLS', 'TLS']) {
        const subject = `${name} ${way}`;
        const isOurs = ({ bytes }: { bytes: Buffer }): boolean =>
          bytes.includes(`Subject: ${subject}\r\n`);
        const copies = await world.receiver.messages.atLeast(2, isOurs);
        expect(copies.flatMap(({ to }) => to).sort()).toEqual([
          'ann@example.net',
          'cy@example.net',
        ]);
        const mail = await PostalMime.parse(copies[0]?.bytes ?? '');
        expect(mail.to?.[0]).toMatchObject({ name: 'Änn', address: 'ann@example.net' });
        expect(mail.text?.trim()).toBe('Grüße');
        expect(mail.html?.trim()).toBe('<p>Grüße</p>');
        expect(mail.attachments[0]?.filename).toBe('a.txt');
      }
    });
  });
}
