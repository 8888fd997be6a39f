import { once } from 'node:events';

/** Writes texts one after another, at the stream's pace. */
export async function writeChunks(
  stream: NodeJS.WritableStream,
  chunks: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  for await (const chunk of chunks) {
    if (!stream.write(chunk)) await once(stream, 'drain');
  }
}
