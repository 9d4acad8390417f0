/** The source of a message as people may see it, and what the log keeps of a long request. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { cutForLog, withoutContent } from '../../../src/flow/content/logged-request.ts';
import { sourceOf } from '../../../src/flow/content/source.ts';
import { draft, mailbox, openFixture, type Fixture } from '../fixture.ts';

let fixture: Fixture;
beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

async function source(change: Parameters<typeof draft>[0]) {
  const by = await fixture.sender();
  await fixture.verified(by, 'acme.example');
  const { message } = await fixture.stored(await fixture.accept(by, draft(change)));
  return { text: async () => (await sourceOf(fixture.ctx, message))?.toString() ?? null, message };
}

test('html without text gets a text part where the config says so, and none where it does not', async () => {
  const { text } = await source({ html: '<p>Hello there</p>', text: null });
  expect(await text()).toContain('text/plain');
  await fixture.close();
  fixture = await openFixture({ toml: '[api]\ntext_from_html = false\n' });
  const other = await source({ html: '<p>Hello there</p>', text: null });
  expect(await other.text()).not.toContain('text/plain');
});

test('the text that was sent beside html is the one that is shown', async () => {
  const { text } = await source({ html: '<p>Hello there</p>', text: 'Another text.' });
  const shown = (await text()) ?? '';
  expect(shown.match(/^Content-Type: text\/plain/gm)).toHaveLength(1);
  expect(shown).toContain('Another text.');
  // Of what the html says only the html itself.
  expect(shown.match(/Hello there/g)).toHaveLength(1);
});

test('a submitted message is shown as it came, and nothing once its content is gone', async () => {
  const raw = Buffer.from('From: hello@acme.example\r\nSubject: Raw\r\n\r\nHello\r\n');
  const to = [mailbox('delivered@sandbox.test')];
  const { text } = await source({ raw, text: null, to });
  expect(await text()).toBe(raw.toString());
  await fixture.ctx.store.purgeBodies(fixture.clock.now() + 1);
  expect(await text()).toBeNull();
});

test('the log keeps 16 KiB of UTF-8 and no half of a character', () => {
  const limit = 16 * 1024;
  expect(cutForLog('a'.repeat(limit))).toHaveLength(limit);
  expect(cutForLog('a'.repeat(limit + 1))).toHaveLength(limit);
  // Fewer characters than the limit, and more bytes.
  expect(Buffer.byteLength(cutForLog('é'.repeat(limit)))).toBe(limit);
  expect(cutForLog(`a${'é'.repeat(limit)}`)).toBe(`a${'é'.repeat(limit / 2 - 1)}`);
  // A character of the basic plane has up to three bytes.
  expect(cutForLog('中'.repeat(limit / 3 + 1))).toBe('中'.repeat(Math.floor(limit / 3)));
});

test('of a character that is cut nothing is kept, whatever its length, and all of what came before it', () => {
  const limit = 16 * 1024;
  for (const character of ['é', '€', '😀']) {
    const { length: bytes } = Buffer.from(character);
    for (let kept = 0; kept <= bytes; kept += 1) {
      // U+FFFD, three bytes, as a client may send it itself.
      const before = `${'a'.repeat(limit - kept - 3)}\ufffd`;
      const shown = cutForLog(`${before}${character}zz`);
      const whole = kept === bytes ? before + character : before;
      expect([character, kept, shown.slice(-5)]).toEqual([character, kept, whole.slice(-5)]);
    }
  }
});

test('content is left out of a row from 1,024 characters on, html and text together', () => {
  const content = { html: 'h'.repeat(512), text: 't'.repeat(512) };
  expect(withoutContent({ ...content, subject: 's' }, content)).toEqual({
    html: true,
    text: true,
    subject: 's',
  });
  const less = { ...content, text: 't'.repeat(511) };
  expect(withoutContent(less, less)).toBeNull();
  expect(withoutContent({ ...content, text: 'other' }, content)).toBeNull();
});
