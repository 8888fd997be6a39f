import type { SecretMatch } from './own-rules.ts';

/**
 * Finds private keys in PEM (RFC 7468) and PGP armour, in the forms where agents see them, such as with line numbers,
 * as `grep -n` and diffs print them, quoted, indented, as an array of lines, on one line, in HTML and in URLs, and with
 * their beginning or end cut off. A key is its marks and each run of base64 in it; whatever introduces its lines is not
 * included.
 */
export const PRIVATE_KEY_RULE = 'privatekey';

const BEGIN = /-----BEGIN {1,6}(?:[A-Z0-9]{1,20} {1,6}){0,4}PRIVATE {1,6}KEY(?: {1,6}BLOCK)?-----/g;
const END = /-----END {1,6}(?:[A-Z0-9]{1,20} {1,6}){0,4}PRIVATE {1,6}KEY(?: {1,6}BLOCK)?-----/g;
/** Spaces and line ends in HTML and in URLs. */
const ENCODED_SPACE = /<br ?\/?>|&nbsp;|&#(?:10|13|32|x[aAdD]);|%(?:0[AaDd]|20)/g;
const DASHES = '-----';

/** The longest key, with what introduces its lines: RSA of 16,384 bits has 13 kB. */
const MAX_KEY_CHARACTERS = 32 * 1024;
/** Text between the lines of a key, such as quotes and spaces. Escaped tabs and line feeds are line feeds here. */
const TOKEN = /[^\s"'`]+/g;
/** Introduction, base64 (the last line of PGP begins with `=`), and what may follow it in source code. */
const BODY =
  /(?:^|[^A-Za-z0-9+/=])(=?(?:[A-Za-z0-9+/]|%2[BbFf]|&#(?:43|47|x2[BbFf]);)+(?:=|%3[Dd]|&#(?:61|x3[Dd]);){0,2})[^A-Za-z0-9+/=]{0,8}$/;
const MAX_BODY_INTRODUCTION = 300;
/** Tokens without letters, like line numbers, comment marks and brackets. */
const FILLER = /^[^A-Za-z+/=]{0,40}\+?$/;
/** Lines that `openssl` writes before the first line of an encrypted key. */
const HEADER =
  /(?:Proc-Type(?::|%3A)|4(?:,|%2C)ENCRYPTED|DEK-Info(?::|%3A)|[A-Z0-9-]{3,20}(?:,|%2C)[0-9A-Fa-f]{8,64})$/;
/** DER begins with a SEQUENCE, whose base64 is `M`; OpenSSH with its name. */
const FIRST_BODY = /^(?:M[A-Za-z0-9+/]|b3Bl)/;
/** A whole line of a key has 64, 70 or 76 characters; `openssl` never writes shorter ones before the last. */
const MIN_LINE = 30;
/** The last line, if the key's end is cut off. Shorter ones could be a word of what follows. */
const MIN_LAST_LINE = 16;
/** Ed25519 has 64. Examples in documentation are shorter. */
const MIN_BODY = 40;
const MAX_FILLERS = 12;
/** `Version: GnuPG v2` and comments. */
const MAX_PGP_HEADERS = 40;

interface Piece {
  start: number;
  end: number;
}

/** The private keys of a text in order. The first piece of each is a secret; the others continue it. */
export function findPrivateKeys(encoded: string): SecretMatch[] {
  if (!encoded.includes('PRIVATE')) return [];
  const text = encoded.replaceAll(ENCODED_SPACE, (space) => ' '.repeat(space.length));
  const matches: SecretMatch[] = [];
  const marks = [...text.matchAll(BEGIN), ...text.matchAll(END)].sort((a, b) => a.index - b.index);
  let searched = 0;
  for (const [index, mark] of marks.entries()) {
    if (mark.index < searched) continue;
    const markEnd = mark.index + mark[0].length;
    const isBegin = mark[0].startsWith(`${DASHES}BEGIN`);
    const next = marks[index + 1];
    const pieces = isBegin
      ? findAfter(text, mark, next)
      : findBefore(text.slice(Math.max(searched, mark.index - MAX_KEY_CHARACTERS), mark.index), mark);
    searched = Math.max(markEnd, pieces.at(-1)?.end ?? 0);
    pieces.forEach((piece, place) => {
      matches.push({ rule: PRIVATE_KEY_RULE, ...piece, ...(place > 0 && { continues: true }) });
    });
  }
  return matches;
}

/** A key from its first mark on, up to its last one or to where it is cut off. */
function findAfter(text: string, begin: RegExpExecArray, next: RegExpExecArray | undefined): Piece[] {
  const start = begin.index + begin[0].length;
  const limit = Math.min(next?.index ?? text.length, start + MAX_KEY_CHARACTERS);
  const isIntroducing = introductionOf(text.slice(Math.max(0, begin.index - MAX_BODY_INTRODUCTION), begin.index));
  const isPgp = begin[0].includes('PGP');
  const pieces: Piece[] = [];
  let hasHeader = isPgp;
  let others = 0;
  let hasEnded = true;
  TOKEN.lastIndex = start;
  for (let token = TOKEN.exec(text); token !== null && token.index < limit; token = TOKEN.exec(text)) {
    const word = text.slice(token.index, Math.min(limit, token.index + token[0].length));
    const isIntroduction = isIntroducing(word);
    const piece = isIntroduction ? undefined : findBody(word, token.index, isIntroducing);
    const last = pieces.at(-1);
    const isAfterLast = last !== undefined && lengthOf(last) < MIN_LAST_LINE;
    const isBody = piece !== undefined && (last !== undefined || isFirstBody(text, piece, hasHeader)) && !isAfterLast;
    if (isBody) {
      pieces.push(piece);
      others = 0;
    } else if (++others > (isPgp && last === undefined ? MAX_PGP_HEADERS : MAX_FILLERS)) {
      hasEnded = false;
      break;
    } else if (last === undefined && HEADER.test(word)) hasHeader = true;
    else if (!isIntroduction && !(isPgp && last === undefined)) {
      hasEnded = false;
      break;
    }
  }
  const isWhole = hasEnded && next !== undefined && next.index === limit && next[0].startsWith(`${DASHES}END`);
  const kept = isWhole ? pieces : withoutFollowing(pieces);
  if (sumLengths(kept) < (isWhole ? MIN_BODY : MIN_LINE)) return [];
  const first = { start: begin.index, end: start };
  return isWhole ? [first, ...kept, { start: next.index, end: next.index + next[0].length }] : [first, ...kept];
}

/** The rest of a key whose beginning is cut off, from the last mark backwards. */
function findBefore(before: string, end: RegExpExecArray): Piece[] {
  const offset = end.index - before.length;
  const isIntroducing = introductionOf(before.slice(-MAX_BODY_INTRODUCTION));
  const pieces: Piece[] = [];
  let fillers = 0;
  // `matchAll` begins where the last search ended.
  TOKEN.lastIndex = 0;
  for (const token of [...before.matchAll(TOKEN)].reverse()) {
    const isIntroduction = isIntroducing(token[0]);
    const piece = isIntroduction ? undefined : findBody(token[0], token.index + offset, isIntroducing);
    if (piece !== undefined && (lengthOf(piece) >= MIN_LINE || pieces.length === 0)) {
      pieces.unshift(piece);
      fillers = 0;
    } else if (++fillers > MAX_FILLERS || !isIntroduction) break;
  }
  if (sumLengths(pieces) < MIN_BODY) return [];
  return [...pieces, { start: end.index, end: end.index + end[0].length }];
}

/** True if a word belongs before the key's mark on its line, apart from numbers, or has no letters. */
function introductionOf(before: string): (word: string) => boolean {
  const line = before.slice(Math.max(before.lastIndexOf('\n'), before.lastIndexOf('"')) + 1);
  const shapes = new Set(line.split(/[\s"'`]+/).map(toShape));
  return (word) => FILLER.test(word) || shapes.has(toShape(word));
}

/** `key.pem:1:` and `key.pem-2-` are the same: `grep -A` prints the latter for lines that follow a match. */
const toShape = (introduction: string): string =>
  introduction.replaceAll(/\d{1,9}/g, '#').replace(/(?:[:-]#)?[:-]$/, ':');

/** The base64 at the end of a token. */
function findBody(token: string, offset: number, isIntroducing: (word: string) => boolean): Piece | undefined {
  const body = token.length > MAX_KEY_CHARACTERS ? null : BODY.exec(token.slice(0, MAX_KEY_CHARACTERS));
  const base64 = body?.[1];
  if (body === null || base64 === undefined || /^\d+$/.test(base64)) return undefined;
  const start = token.indexOf(base64, body.index);
  if (start > MAX_BODY_INTRODUCTION || !isIntroducing(token.slice(0, start))) return undefined;
  return { start: offset + start, end: offset + start + base64.length };
}

function isFirstBody(text: string, { start, end }: Piece, hasHeader: boolean): boolean {
  if (hasHeader) return end - start >= MIN_LINE;
  // A diff's mark may precede it.
  return FIRST_BODY.test(text.slice(start, end).replace(/^\+/, ''));
}

/** Without words that follow a key that is cut off. */
function withoutFollowing(pieces: readonly Piece[]): Piece[] {
  const firstShort = pieces.findIndex((piece) => lengthOf(piece) < MIN_LINE);
  if (firstShort === -1) return [...pieces];
  const short = pieces[firstShort];
  return pieces.slice(0, firstShort + (short !== undefined && lengthOf(short) >= MIN_LAST_LINE ? 1 : 0));
}

const lengthOf = ({ start, end }: Piece): number => end - start;
const sumLengths = (pieces: readonly Piece[]): number => pieces.reduce((sum, piece) => sum + lengthOf(piece), 0);
