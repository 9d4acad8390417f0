/**
 * A request that failed, as few bytes as still fail, and as a line for a shell.
 */
import type { WireRequest } from './wire-client.ts';
import { parsed } from './requests.ts';

const MAX_TRIES = 120;

/** The smallest request that `stillFails`, found by leaving out one part after the other. */
export async function shrunk(
  request: WireRequest,
  stillFails: (request: WireRequest) => Promise<boolean>,
): Promise<WireRequest> {
  let smallest = request;
  let tries = 0;
  for (let isSmaller = true; isSmaller && tries < MAX_TRIES;) {
    isSmaller = false;
    for (const candidate of smaller(smallest)) {
      tries += 1;
      if (tries > MAX_TRIES) break;
      if (!(await stillFails(candidate))) continue;
      smallest = candidate;
      isSmaller = true;
      break;
    }
  }
  return smallest;
}

/** The request without one of its parts. */
function* smaller(request: WireRequest): Generator<WireRequest> {
  const { headers, body, target } = request;
  const [path = '', query] = target.split('?');
  if (query !== undefined) yield { ...request, target: path };
  for (const [at, [name]] of headers.entries()) {
    if (name === 'Authorization') continue;
    yield { ...request, headers: headers.filter((_, index) => index !== at) };
  }
  if (body === null) return;
  const value = parsed(body);
  for (const part of without(value)) yield { ...request, body: Buffer.from(JSON.stringify(part)) };
}

/** The value without one member, at any depth. */
function* without(value: unknown): Generator {
  if (Array.isArray(value)) {
    for (const at of value.keys()) yield value.filter((_, index) => index !== at);
    for (const [at, item] of value.entries()) {
      for (const part of without(item)) yield value.with(at, part);
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      const rest = Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));
      yield rest;
      for (const part of without(inner)) yield { ...value, [name]: part };
    }
  } else if (typeof value === 'string' && value.length > 8) {
    yield value.slice(0, value.length / 2);
  }
}

/** The request as a curl line. Bytes that are no text go through base64. */
export function curlOf(base: string, { method, target, headers, body }: WireRequest): string {
  const args = [
    method === 'HEAD' ? '-I' : `-X ${method}`,
    '--path-as-is',
    quoted(base + target),
    ...headers.map(
      ([name, value]) => `-H ${quoted(value === '' ? `${name};` : `${name}: ${value}`)}`,
    ),
  ];
  if (body === null) return `curl -si ${args.join(' ')}`;
  const text = body.toString();
  const isText = Buffer.from(text).equals(body) && !text.includes('\0');
  if (isText) return `curl -si ${args.join(' ')} --data-binary ${quoted(text)}`;
  return `echo ${body.toString('base64')} | base64 -d | curl -si ${args.join(' ')} --data-binary @-`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
