/** A file that cannot be sent, and what to do instead. */
export interface RefusedFile {
  path: string;
  reason: string;
}

/** Why a file is not sent, in words that follow a number, because nothing is wrong with it. */
export type LeftOut = 'by name' | 'as a link' | 'as neither file nor folder' | 'as an archive within an archive';

/** The content of an archive, in its order. Several members may have one name. */
export type ArchiveMember = { name: string; bytes: Uint8Array<ArrayBuffer> } | RefusedFile | { leftOut: LeftOut };

/** Bounds one member, which stays in memory until it is sent. The archive may be of any size. */
export const MAX_MEMBER_BYTES = 512 * 1024 * 1024;
export const TOO_LARGE = 'It is too large to be opened in a browser. recount backfill takes archives of any size';
/** As `recount backfill` takes them; OpenClaw renames sessions that were reset to `<id>.jsonl.reset.<time>`. */
const TRANSCRIPT_NAME =
  /\.(?:jsonl?|ndjson)(?:\.(?:(?:reset|deleted)\.\d[\dT:.-]*Z?|imported-\d+(?:\.\d+)?))?(?:\.(?:gz|zst|br))?$/i;
export const ZIP_NAME = /\.zip$/i;
export const TAR_NAME = /\.(?:tar|tar\.gz|tgz)$/i;
export const OTHER_ARCHIVE_NAME = /\.(?:tar\.\w+|7z|rar|xz|bz2)$/i;

export class DamagedArchiveError extends Error {
  override name = 'DamagedArchiveError';
}

export const isTranscriptName = (name: string): boolean => TRANSCRIPT_NAME.test(name);

/** Why a regular member is not read; undefined if it is a transcript by its name. */
export function leaveOutByName(name: string): LeftOut | undefined {
  if (isTranscriptName(name)) return undefined;
  const isArchive = [ZIP_NAME, TAR_NAME, OTHER_ARCHIVE_NAME].some((pattern) => pattern.test(name));
  return isArchive ? 'as an archive within an archive' : 'by name';
}

/** Names are UTF-8 in all but old archives. */
export function decodeName(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('latin1').decode(bytes);
  }
}

/** Without root, drive, `.` and `..`, as `recount backfill` has it. */
export const toMemberPath = (name: string): string =>
  name
    .replace(/^[a-z]:(?=[\\/])/i, '')
    .split('/')
    .filter((segment) => segment !== '' && segment !== '.' && segment !== '..')
    .join('/');
