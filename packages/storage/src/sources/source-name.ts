import { isUtf8 } from 'node:buffer';

/** What a name promises. The magic bytes of the content have the last word on how it is decoded. */
type NameKind = 'transcript' | 'tar' | 'zip' | 'other';

const TRANSCRIPT_ENDING = /\.(?:jsonl?|ndjson)(?:\.(?:gz|zst))?$/i;
const TAR_ENDING = /\.(?:tar|tar\.gz|tgz|tar\.zst|tzst)$/i;
const ZIP_ENDING = /\.zip$/i;
const COMPRESSION_ENDING = /\.(?:gz|zst)$/i;
/** What agents keep beside a session, about it. */
const COMPANION_ENDING = /\.(?:meta|settings)\.json$/i;
/** macOS archives hold a binary `._name` beside each `name`. */
const APPLE_DOUBLE = /(?:^|[\\/])\._[^\\/]*$/;
/** U+FFFD as well: it marks the bytes of the others. */
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

/** A compressed name says nothing of the decoded size. */
export function hasCompressionEnding(path: string): boolean {
  return COMPRESSION_ENDING.test(path);
}

export function withoutCompressionEnding(path: string): string {
  return path.replace(COMPRESSION_ENDING, '');
}

/**
 * A name as text that can be stored and shown. Where names are bytes, as on Linux and in archives, they need not be UTF-8: each byte
 * that is none becomes `\uFFFDxE9`, and so do control characters, which could break a log line. Names that differ stay different, as
 * no other U+FFFD is left: one that is in the name itself is `\uFFFDxEF\uFFFDxBF\uFFFDxBD`.
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
 * The shown name of an archive member or S3 object as a relative path. `/home/me/x.jsonl`, `../x.jsonl` and `C:/x.jsonl` are
 * kept rather than refused: nothing is ever written to disk, `tar -P` backups have such names, and their transcripts count.
 */
export function toMemberPath(name: string): string {
  return name
    .replace(DRIVE_PREFIX, '')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.' && segment !== '..')
    .join('/');
}
