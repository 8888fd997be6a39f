import { closeStream, readAtMost, toWholeStream } from './byte-stream.ts';
import { type ContentFormat, createTranscriptStream, decodeBytes, detectFormat, HEAD_BYTES } from './decode-bytes.ts';
import { SourceError, toSourceError } from './source-error.ts';
import { type SourceLimits, toFailed, toSkipped, type UnplacedItem } from './source-item.ts';
import { classify, type ReadContext, type StoredObject, toTranscript } from './transcript-item.ts';

/** Enough stored bytes for `HEAD_BYTES` decoded ones after any realistic gzip header. */
const SNIFF_BYTES = 64 * 1024;

/** Reads one object, a transcript, or the members of an archive. If the object is faulty, its last item says so. */
export async function* readObject(object: StoredObject, context: ReadContext): AsyncGenerator<UnplacedItem> {
  try {
    yield* readByFormat(object, context);
  } catch (error) {
    const failure = toSourceError(error);
    if (context.signal.aborted || !(failure instanceof SourceError)) throw error;
    yield toFailed(object.location, failure);
  }
}

async function* readByFormat(object: StoredObject, context: ReadContext): AsyncGenerator<UnplacedItem> {
  const named = classify(object.path, context.wants);
  // A transcript recognised by its name is not opened for sniffing, because on S3 that would take an extra request for
  // each.
  const isWanted = named === 'transcript' && context.wants !== undefined;
  const needsLook = (object.isExplicit && !isWanted) || named !== 'transcript';
  const { stored, decoded } = needsLook ? await sniff(object) : { stored: 'other', decoded: 'other' };
  if (stored === 'unsupported') throw new SourceError('unsupported', 'a kind of compression that is not supported');
  if (stored === 'zip') yield* await readArchive('zip', object, context);
  else if (decoded === 'tar') yield* await readArchive('tar', object, context);
  else if (decoded === 'zip') yield toSkipped(object.location, 'nested-archive');
  else if (named === 'tar' || named === 'zip') yield* await readArchive(named, object, context);
  else if (named === 'other' && context.wants !== undefined) yield toSkipped(object.location, 'not-a-transcript');
  else yield toPlainTranscript(object, context);
}

/** Archive libraries are loaded on first use. */
async function readArchive(
  kind: 'tar' | 'zip',
  object: StoredObject,
  context: ReadContext,
): Promise<AsyncGenerator<UnplacedItem>> {
  if (kind === 'tar') return (await import('./read-tar.ts')).readTar(object, context);
  return (await import('./read-zip.ts')).readZip(object, context);
}

/** The format of the stored bytes and of their decoded content. */
async function sniff(object: StoredObject): Promise<{ stored: ContentFormat; decoded: ContentFormat }> {
  if (object.sizeBytes === 0) return { stored: 'other', decoded: 'other' };
  const stream = await object.open({ start: 0, end: Math.min(object.sizeBytes, SNIFF_BYTES) });
  const head = await readAtMost(stream, SNIFF_BYTES).finally(() => closeStream(stream));
  const stored = detectFormat(head);
  return { stored, decoded: detectFormat(await decodeHead(head)) };
}

async function decodeHead(head: Buffer): Promise<Buffer> {
  async function* once(): AsyncGenerator<Buffer> {
    yield head;
  }
  const unlimited = { maxDecodedBytes: Number.POSITIVE_INFINITY, maxExpansionRatio: Number.POSITIVE_INFINITY };
  try {
    return await readAtMost(decodeBytes(once(), unlimited), HEAD_BYTES);
  } catch {
    // Damaged, or cut by SNIFF_BYTES before enough was decoded. If damaged, the actual read reports it.
    return Buffer.alloc(0);
  }
}

function toPlainTranscript(object: StoredObject, context: ReadContext): UnplacedItem {
  const open = async () => {
    const whole = await object.readWhole?.();
    if (whole !== undefined && (context.wants !== undefined || isPlain(whole, context.limits)))
      return toWholeStream(whole, context.signal);
    const stored = await object.open();
    return createTranscriptStream(stored, context, () => stored.destroy());
  };
  return toTranscript({ ...object, reopenable: true, open }, context);
}

/** Neither compressed, an archive, nor too long, so decoding would leave it unchanged. */
function isPlain(whole: Buffer, { maxTranscriptBytes }: SourceLimits): boolean {
  return detectFormat(whole.subarray(0, HEAD_BYTES)) === 'other' && whole.length <= maxTranscriptBytes;
}
