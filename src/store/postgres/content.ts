/**
 * Reads of a message's content.
 *
 * The client reads a row as a whole, on the thread that asks, and 13 MB keep that thread for a tenth of a second and more.
 * So a column of `LARGE_FROM` bytes or more is read in pieces, each by a statement of its own, into memory that all threads
 * share. Promises the bytes as they were stored, or null: content that goes while it is read (retention, erasure) is gone.
 */
import { asBuffer } from '../../base/as-buffer.ts';
import type { Attachment, Body, ListedAttachment, ListedBody } from '../rows.ts';
import { headersOf } from '../json-columns.ts';
import type { Access } from './database.ts';
import { idOrNull } from './ids.ts';
import { part } from './statement.ts';

/** Bytes. What is shorter comes with its row. */
const LARGE_FROM = 256 * 1024;
/** Bytes: some milliseconds, also where the server has to unpack what comes before. */
const PIECE = 1024 * 1024;

/** The text of bytes in UTF-8. */
export type DecodeText = (bytes: Uint8Array) => Promise<string>;

/** Decodes on the thread that asks. */
export const decodeHere: DecodeText = async (bytes) => asBuffer(bytes).toString();

type Reader = Pick<Access, 'all' | 'first'>;

/** What comes with the row: null where a column is null, or long. `…Size`: bytes, 0 where it is null. */
interface ShortBody {
  headers: string | null;
  html: Uint8Array | null;
  htmlSize: number;
  text: Uint8Array | null;
  textSize: number;
  raw: Uint8Array | null;
  rawSize: number;
}

interface ShortFile extends Omit<Attachment, 'content'> {
  position: number;
  content: Uint8Array | null;
  contentSize: number;
}

/** A column of one row. */
interface Column {
  name: string;
  /** `FROM` and `WHERE`; `$1` is the id, `$4` the position where there is one. */
  from: string;
  id: string | null;
  position?: number;
  short: Uint8Array | null;
  size: number;
}

export interface ContentReads {
  wholeOf: (id: string) => Promise<Body | null>;
  /** Without the bytes of attachments. */
  listedOf: (id: string) => Promise<ListedBody | null>;
}

const ATTACHMENT = 'SELECT filename, content_type AS "contentType", content_id AS "contentId"';
const ATTACHMENTS_OF = 'FROM attachments WHERE message_id = $1';

/** The content of a message whose account is known. */
export function contentReads(database: Reader, decode: DecodeText): ContentReads {
  const filesOf = async (id: string): Promise<Attachment[] | null> => {
    const key = idOrNull(id);
    const text = `${ATTACHMENT}, position, ${shortOf('content')} ${ATTACHMENTS_OF} ORDER BY position`;
    const rows = await database.all<ShortFile>(part(text, key, LARGE_FROM));
    const files: Attachment[] = [];
    for (const { position, content: short, contentSize: size, ...rest } of rows) {
      const from = `${ATTACHMENTS_OF} AND position = $4`;
      const column = { name: 'content', from, id: key, position, short, size };
      const content = await bytesOf(database, column);
      if (content === null) return null;
      files.push({ ...rest, content });
    }
    return files;
  };
  const listedFilesOf = (id: string): Promise<ListedAttachment[]> =>
    database.all(
      part(
        `${ATTACHMENT}, octet_length(content) AS size ${ATTACHMENTS_OF} ORDER BY position`,
        idOrNull(id),
      ),
    );
  const wholeOf = async (id: string): Promise<Body | null> => {
    const [body, attachments] = await Promise.all([partsOf(database, decode, id), filesOf(id)]);
    return body && attachments && { ...body, attachments };
  };
  const listedOf = async (id: string): Promise<ListedBody | null> => {
    const [body, attachments] = await Promise.all([
      partsOf(database, decode, id),
      listedFilesOf(id),
    ]);
    return body && { ...body, attachments };
  };
  return { wholeOf, listedOf };
}

async function partsOf(
  database: Reader,
  decode: DecodeText,
  id: string,
): Promise<Omit<Body, 'attachments'> | null> {
  const from = 'FROM bodies WHERE message_id = $1';
  const key = idOrNull(id);
  const columns = ['html', 'text', 'raw'].map(shortOf).join(', ');
  const row = await database.first<ShortBody>(
    part(`SELECT headers, ${columns} ${from}`, key, LARGE_FROM),
  );
  if (row === null) return null;
  const bytesIn = (name: 'html' | 'text' | 'raw'): Promise<Uint8Array | null> =>
    bytesOf(database, { name, from, id: key, short: row[name], size: row[`${name}Size`] });
  const textIn = async (name: 'html' | 'text'): Promise<string | null> => {
    const bytes = await bytesIn(name);
    if (bytes === null) return null;
    return bytes.length < LARGE_FROM ? decodeHere(bytes) : decode(bytes);
  };
  const [html, text, raw] = [await textIn('html'), await textIn('text'), await bytesIn('raw')];
  const isGone =
    (html === null && row.htmlSize > 0) ||
    (text === null && row.textSize > 0) ||
    (raw === null && row.rawSize > 0);
  return isGone ? null : { html, text, headers: headersOf(row.headers), raw };
}

/** A column where it is short, and its bytes. `$2`: the bytes from which on it is long. */
function shortOf(name: string): string {
  return (
    `CASE WHEN octet_length(${name}) < $2 THEN ${name} END AS ${name},` +
    ` coalesce(octet_length(${name}), 0) AS "${name}Size"`
  );
}

/** All bytes of a column; null where it is null, and where they went meanwhile. */
async function bytesOf(
  database: Reader,
  { name, from, id, position, short, size }: Column,
): Promise<Uint8Array | null> {
  if (size < LARGE_FROM) return short;
  const bytes = Buffer.from(new SharedArrayBuffer(size));
  const text = `SELECT substring(${name} FROM $2 FOR $3) AS piece ${from}`;
  const where = position === undefined ? [] : [position];
  for (let at = 0; at < size; at += PIECE) {
    const row = await database.first<{ piece: Uint8Array | null }>(
      part(text, id, at + 1, PIECE, ...where),
    );
    const piece = row?.piece ?? null;
    if (piece === null || piece.length !== Math.min(PIECE, size - at)) return null;
    bytes.set(piece, at);
  }
  return bytes;
}
