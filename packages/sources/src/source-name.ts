/** What a name promises. The magic bytes of the content have the last word on how it is decoded. */
export type NameKind = 'transcript' | 'tar' | 'zip' | 'other';

const TRANSCRIPT_ENDING = /\.(?:jsonl|ndjson)(?:\.(?:gz|zst))?$/i;
const TAR_ENDING = /\.(?:tar|tar\.gz|tgz|tar\.zst|tzst)$/i;
const ZIP_ENDING = /\.zip$/i;
const COMPRESSION_ENDING = /\.(?:gz|zst)$/i;
/** macOS archives hold a binary `._name` beside each `name`. */
const APPLE_DOUBLE = /(?:^|[\\/])\._[^\\/]*$/;
const CONTROL_CHARACTER = /\p{Cc}/gu;
const DRIVE_PREFIX = /^[a-z]:(?=[\\/])/i;

export function classifyName(path: string): NameKind {
  if (APPLE_DOUBLE.test(path)) return 'other';
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

/** Safe to show: a name from an archive could otherwise steer a terminal or break a log line. */
export function toDisplayName(name: string): string {
  return name.replace(CONTROL_CHARACTER, '\uFFFD');
}

/**
 * The name of an archive member or S3 object as a relative path. `/home/me/x.jsonl`, `../x.jsonl` and `C:/x.jsonl` are
 * kept rather than refused: nothing is ever written to disk, `tar -P` backups have such names, and their transcripts count.
 */
export function toMemberPath(name: string): string {
  return toDisplayName(name)
    .replace(DRIVE_PREFIX, '')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.' && segment !== '..')
    .join('/');
}
