/**
 * Forms with a file: read only for signed-in operators, within a bound and the memory budget.
 *
 * Promises that the whole body is in memory once, and counted for as long as the page works on it.
 */
import type { Context } from '../flow/context.ts';

/** Bytes of a form with its file: a quarter of a million addresses. */
export const MAX_UPLOAD_BYTES = 10 * 1024 * 1024;

export interface Upload {
  fields: URLSearchParams;
  /** The first file that is not empty. */
  file: File | null;
}

export function isUpload(request: Request): boolean {
  return (request.headers.get('content-type') ?? '').startsWith('multipart/form-data');
}

/** What `work` makes of the form; a word where it cannot be read. */
export async function withUpload<T>(
  ctx: Pick<Context, 'budget'>,
  request: Request,
  work: (upload: Upload) => Promise<T>,
): Promise<T | 'too_large' | 'busy' | 'unreadable'> {
  const length = Number(request.headers.get('content-length') ?? Number.NaN);
  if (!(length <= MAX_UPLOAD_BYTES)) return 'too_large';
  const share = ctx.budget.open('dashboard');
  try {
    if (!share.grow(length)) return 'busy';
    await share.begin();
    const upload = await readUpload(request);
    return upload === null ? 'unreadable' : await work(upload);
  } finally {
    share.release();
  }
}

async function readUpload(request: Request): Promise<Upload | null> {
  const upload: Upload = { fields: new URLSearchParams(), file: null };
  try {
    for (const [name, value] of await request.formData()) {
      if (typeof value === 'string') upload.fields.append(name, value);
      else if (value.size > 0) upload.file ??= value;
    }
  } catch {
    return null;
  }
  return upload;
}
