/** A file that cannot be sent, and what to do instead. */
export interface RefusedFile {
  path: string;
  reason: string;
}

/** Why a file is not sent, in words that follow a number, because nothing is wrong with it. */
export type LeftOut = 'by name' | 'as a link' | 'as neither file nor folder' | 'as an archive within an archive';

/** The content of an archive, in its order. Several members may have one name. */
export type ArchiveMember = { name: string; bytes: Uint8Array<ArrayBuffer> } | RefusedFile | { leftOut: LeftOut };

/** For a tar archive, packed or unpacked, or the transcripts of a zip archive, because they are in memory. */
export const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024;
/** As `recount backfill` takes them; OpenClaw renames sessions that were reset to `<id>.jsonl.reset.<time>`. */
const TRANSCRIPT_NAME =
  /\.(?:jsonl?|ndjson)(?:\.(?:(?:reset|deleted)\.\d[\dT:.-]*Z?|imported-\d+(?:\.\d+)?))?(?:\.(?:gz|zst|br))?$/i;
export const ZIP_NAME = /\.zip$/i;
export const TAR_NAME = /\.(?:tar|tar\.gz|tgz)$/i;
export const OTHER_ARCHIVE_NAME = /\.(?:tar\.\w+|7z|rar|xz|bz2)$/i;

export class ArchiveTooLargeError extends Error {
  override name = 'ArchiveTooLargeError';
}

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

/** All bytes of a stream. Throws ArchiveTooLargeError if there are more than `maxBytes`. */
export async function readBounded(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  maxBytes = MAX_ARCHIVE_BYTES,
): Promise<Uint8Array<ArrayBuffer>> {
  let total = 0;
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      total += chunk.length;
      if (total > maxBytes) throw new ArchiveTooLargeError();
      controller.enqueue(chunk);
    },
  });
  return new Uint8Array(await new Response(stream.pipeThrough(counted)).arrayBuffer());
}
