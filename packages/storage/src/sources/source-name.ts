import { isUtf8 } from 'node:buffer';

/** The suggestion of a name. The magic bytes of the content decide how it is decoded. */
type NameKind = 'transcript' | 'tar' | 'zip' | 'other';

/** OpenClaw renames sessions: `<id>.jsonl.reset.2026-05-07T01-26-08.695Z`, `.deleted.` when it removes one. */
const TRANSCRIPT_ENDING =
  /\.(?:jsonl?|ndjson)(?:\.(?:(?:reset|deleted)\.\d[\dT:.-]*Z?|imported-\d+(?:\.\d+)?))?(?:\.(?:gz|zst))?$/i;
const TAR_ENDING = /\.(?:tar|tar\.gz|tgz|tar\.zst|tzst)$/i;
const ZIP_ENDING = /\.zip$/i;
const COMPRESSION_ENDING = /\.(?:gz|zst)$/i;
/** Files about a session, without usage, that agents keep beside it. */
const COMPANION_ENDING = /\.meta\.json$/i;
/** macOS archives hold a binary `._name` beside each `name`. */
const APPLE_DOUBLE = /(?:^|[\\/])\._[^\\/]*$/;
/** U+FFFD too, because it marks the escaped bytes. */
const NOT_SHOWN = /[\p{Cc}\uFFFD]/gu;
const MAX_CHARACTER_BYTES = 4;
const DRIVE_PREFIX = /^[a-z]:(?=[\\/])/i;

export function classifyName(path: string): NameKind {
  if (APPLE_DOUBLE.test(path) || COMPANION_ENDING.test(path)) return 'other';
  if (TRANSCRIPT_ENDING.test(path)) return 'transcript';
  if (TAR_ENDING.test(path)) return 'tar';
  if (ZIP_ENDING.test(path)) return 'zip';
  return 'other';
}

/** The name of a compressed file says nothing about its decoded size. */
export function hasCompressionEnding(path: string): boolean {
  return COMPRESSION_ENDING.test(path);
}

export function withoutCompressionEnding(path: string): string {
  return path.replace(COMPRESSION_ENDING, '');
}

/**
 * A name as text that can be stored and shown. On Linux and in archives, names are bytes and need not be UTF-8: each
 * invalid byte becomes `\uFFFDxE9`, and so do control characters, which could break a log line. Different names stay
 * different, because a U+FFFD in the name itself is escaped as well: `\uFFFDxEF\uFFFDxBF\uFFFDxBD`.
 */
export function toShownName(name: Buffer | string): string {
  const bytes = typeof name === 'string' ? Buffer.from(name) : name;
  if (isUtf8(bytes)) return bytes.toString().replace(NOT_SHOWN, (character) => markBytes(Buffer.from(character)));
  let shown = '';
  for (let start = 0, end = 0; start < bytes.length; start = end) {
    do end += 1;
    while (!isUtf8(bytes.subarray(start, end)) && end < start + MAX_CHARACTER_BYTES && end < bytes.length);
    const isCharacter = isUtf8(bytes.subarray(start, end));
    if (!isCharacter) end = start + 1;
    const part = bytes.subarray(start, end);
    shown += isCharacter ? toShownName(part) : markBytes(part);
  }
  return shown;
}

const markBytes = (bytes: Buffer): string =>
  [...bytes].map((byte) => `\uFFFDx${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');

/**
 * The shown name of an archive member or S3 object as a relative path. `/home/me/x.jsonl`, `../x.jsonl` and
 * `C:/x.jsonl` are accepted, not rejected, because nothing is ever written to disk, `tar -P` backups contain such
 * names, and their transcripts count.
 */
export function toMemberPath(name: string): string {
  return name
    .replace(DRIVE_PREFIX, '')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.' && segment !== '..')
    .join('/');
}
