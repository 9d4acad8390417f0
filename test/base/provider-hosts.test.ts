/** Which large provider runs a mail host, by the end of its name. */
import { expect, test } from 'bun:test';

import { SANDBOX_DOMAIN, destinationKind } from '../../src/base/destination-kind.ts';
import { providerOfHost } from '../../src/base/provider-hosts.ts';

test.each([
  ['gmail-smtp-in.l.google.com', 'Gmail'],
  // Of Workspace since 2023.
  ['smtp.google.com', 'Gmail'],
  ['aspmx2.googlemail.com', 'Gmail'],
  ['outlook-com.olc.protection.outlook.com', 'Outlook'],
  ['contoso-com.mail.protection.outlook.com', 'Office 365'],
  ['contoso-com.a1.mx.microsoft', 'Office 365'],
  ['mta5.am0.yahoodns.net', 'Yahoo'],
  ['mx01.mail.icloud.com', 'Apple'],
  ['mx1.mail.me.com', 'Apple'],
  ['mx.example.com', ''],
  // Whole labels count.
  ['mx.notgoogle.com', ''],
  ['google.com.example', ''],
  // It ends there, too.
  ['mx.google.com.example', ''],
  [null, ''],
])('%p is run by %p', (host, provider) => expect(providerOfHost(host)).toBe(provider));

test.each([
  ['gmail.com', 'gmail'],
  ['googlemail.com', 'gmail'],
  ['outlook.com', 'microsoft'],
  ['hotmail.com', 'microsoft'],
  ['live.com', 'microsoft'],
  ['msn.com', 'microsoft'],
  ['yahoo.com', 'yahoo'],
  ['ymail.com', 'yahoo'],
  ['aol.com', 'yahoo'],
  ['icloud.com', 'apple'],
  ['me.com', 'apple'],
  ['mac.com', 'apple'],
  ['mail.gmail.com', 'other'],
  ['constructor', 'other'],
  [SANDBOX_DOMAIN, 'other'],
])('mail to %p is counted as %p', (domain, kind) => expect(destinationKind(domain)).toBe(kind));
