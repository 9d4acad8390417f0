/** What a page shows of a message: images stand inside its HTML, as far as they fit together. */
import { expect, test } from 'bun:test';

import { withInlineImages, type PartAttachment } from '../../../src/mail/mime/message-parts.ts';

const BYTES_MAX = 8_000_000;

/** An image that says it has so many bytes; `decoded` counts how often somebody wants them. */
function image(contentId: string | null, byteLength: number, contentType = 'image/png') {
  const decoded: string[] = [];
  const part: Omit<PartAttachment, 'filename'> = {
    contentId,
    contentType,
    byteLength,
    content() {
      decoded.push(contentId ?? '');
      return Buffer.from(contentId ?? '');
    },
  };
  return { part, decoded };
}

const urlOf = (contentId: string): string =>
  `data:image/png;base64,${Buffer.from(contentId).toString('base64')}`;

test('images are put in up to a limit for all of them together', () => {
  const images = [image('a', BYTES_MAX - 10), image('b', 11), image('c', 10), image('d', 1)];
  const html = images.map(({ part }) => `<img src="cid:${part.contentId}">`).join('');
  const shown = withInlineImages(
    html,
    images.map(({ part }) => part),
  );
  expect(shown).toBe(
    `<img src="${urlOf('a')}"><img src="cid:b"><img src="${urlOf('c')}"><img src="cid:d">`,
  );
  // What is left out is not even decoded.
  expect(images.map(({ decoded }) => decoded.length)).toEqual([1, 0, 1, 0]);
});

test('only images are put in, and only where their Content-ID is named', () => {
  const parts = [image('page', 1, 'text/html'), image(null, 1), image('logo', 1)];
  const html = `<a href="cid:page"></a><p style="background:url(CID:logo)">cid:none</p>`;
  const shown = withInlineImages(
    html,
    parts.map(({ part }) => part),
  );
  expect(shown).toBe(html.replace('CID:logo', urlOf('logo')));
});
