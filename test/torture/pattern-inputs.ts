/**
 * Regular expressions of the source, and inputs that are hard for them.
 *
 * `literalsIn` finds the literals of a file by a small scanner of strings, templates and comments. `hardInputs` takes an
 * expression apart and repeats its own pieces, alone and behind what has to come before them: the shapes in which
 * backtracking and searches that begin again cost more than linear time. Deterministic.
 */

const BEFORE_LITERAL = /(?:^|[(,=:[!&|?{};+]|=>|\b(?:return|typeof|case|in|of))\s*$/;
/** Characters of which one fits nearly every class. */
const SAMPLES = 'a0 -.:;<>@"\\/=_A,(\t\r\n!é\u0085\u2028'.split('');

/** Source and flags of every literal in a file's text. */
export function literalsIn(text: string): [source: string, flags: string][] {
  const found: [string, string][] = [];
  let code = '';
  for (let at = 0; at < text.length; at += 1) {
    const two = text.slice(at, at + 2);
    const character = text[at] ?? '';
    if (two === '//') {
      at = text.indexOf('\n', at) - 1;
      if (at < 0) return found;
    } else if (two === '/*') {
      at = text.indexOf('*/', at) + 1;
    } else if (character === '/' && BEFORE_LITERAL.test(code.slice(-30))) {
      const end = endOfLiteral(text, at);
      const flags = /^[a-z]*/.exec(text.slice(end + 1, end + 9))?.[0] ?? '';
      found.push([text.slice(at + 1, end), flags]);
      at = end + flags.length;
      code += '0';
    } else if (character === "'" || character === '"') {
      at = endOfText(text, at, character);
      code += '0';
    } else if (character === '`') {
      at = endOfTemplate(text, at, found);
      code += '0';
    } else {
      code += character;
    }
  }
  return found;
}

function endOfLiteral(text: string, open: number): number {
  let isClass = false;
  for (let at = open + 1; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\\') at += 1;
    else if (character === '[') isClass = true;
    else if (character === ']') isClass = false;
    else if (character === '/' && !isClass) return at;
  }
  return text.length;
}

function endOfText(text: string, open: number, mark: string): number {
  for (let at = open + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === mark) return at;
  }
  return text.length;
}

/** The end of a template; the code in its holes is looked through too. */
function endOfTemplate(text: string, open: number, found: [string, string][]): number {
  for (let at = open + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '`') return at;
    else if (text.startsWith('${', at)) {
      const start = at + 2;
      let depth = 1;
      for (at = start; at < text.length; at += 1) {
        if (text[at] === '`') at = endOfTemplate(text, at, []);
        else if (text[at] === "'" || text[at] === '"') at = endOfText(text, at, text[at] ?? '');
        else if (text[at] === '{') depth += 1;
        else if (text[at] === '}') depth -= 1;
        if (depth === 0) break;
      }
      found.push(...literalsIn(text.slice(start, at)));
    }
  }
  return text.length;
}

/** The pieces of an expression between its groups and alternatives, each as a text that fits it. */
function piecesOf(source: string, flags: string): string[] {
  const pieces: string[] = [];
  let piece = '';
  const tokens =
    /\\u\{[^}]*\}|\\[pP]\{[^}]*\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\.|\[(?:\\.|[^\]\\])*\]|\(\?<?[:=!]|[{][\d,]+[}]|[\s\S]/gi;
  for (const [token] of source.matchAll(tokens)) {
    if (/^(?:\(|\)|\||\(\?<?[:=!])$/.test(token)) {
      if (piece !== '') pieces.push(piece);
      piece = '';
    } else if (!/^(?:[*+?^$]|\{[\d,]+\}|\\[bB])$/.test(token)) {
      piece += sampleOf(token, flags);
    }
  }
  return piece === '' ? pieces : [...pieces, piece];
}

function sampleOf(token: string, flags: string): string {
  if (token.length === 1 && token !== '.') return token;
  const fits = new RegExp(`^(?:${token})$`, flags.replace(/[gy]/g, ''));
  return SAMPLES.find((sample) => fits.test(sample)) ?? String.fromCodePoint(codeOf(token));
}

function codeOf(token: string): number {
  return Number.parseInt(/[0-9a-f]{2,6}/i.exec(token)?.[0] ?? '61', 16);
}

/** Makers of inputs of a length in characters. */
export function hardInputs(source: string, flags: string): ((length: number) => string)[] {
  const pieces = piecesOf(source, flags);
  const pumps = new Map<string, string>();
  const add = (prefix: string, pump: string): void => {
    if (pump !== '') pumps.set(`${prefix}\0${pump}`, pump);
  };
  for (const [at, piece] of pieces.entries()) {
    const before = pieces.slice(Math.max(0, at - 3), at).join('');
    for (const prefix of new Set(['', before])) {
      add(prefix, piece);
      add(prefix, `${piece} `);
      add(prefix, piece.slice(0, 1));
      add(prefix, piece.slice(-1));
    }
    add(before, ' ');
    add('', before + piece);
  }
  for (const pump of ['a', ' ', '\\"', '<', 'a@', '.', '-']) add('', pump);
  return [...pumps].map(([key, pump]) => {
    const prefix = key.slice(0, key.indexOf('\0'));
    return (length) => `${prefix}${pump.repeat(Math.ceil(length / pump.length))}\u0001`;
  });
}
