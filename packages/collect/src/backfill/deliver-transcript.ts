import type { TranscriptSource } from '@recount/storage/sources';
import type { DeliveryRetry } from '../deliver/delivery-retry.ts';
import type { DeliveryTarget, StoredTranscript } from '../deliver/delivery-target.ts';
import type { RepositoryReader } from '../find/read-repository.ts';
import type { Arrival } from './follow-ingestion.ts';
import type { SourceContent } from './read-content.ts';

export interface DeliverOptions {
  isDryRun: boolean;
  /** True to first ask the target if it has the bytes already. */
  asksFirst: boolean;
  retry: DeliveryRetry;
  readRepository: RepositoryReader;
  signal: AbortSignal;
  onRead(bytes: number): void;
}

/**
 * Delivers one transcript unless the target has it. Returns the target's state; undefined in a dry run if the target
 * does not have it. Rejects with a DeliveryError, or with errors of reading the content.
 */
export async function deliverTranscript(
  target: DeliveryTarget | undefined,
  source: TranscriptSource,
  content: SourceContent,
  options: DeliverOptions,
): Promise<{ transcript: StoredTranscript; arrival: Arrival } | undefined> {
  const { retry, signal } = options;
  const { sessionId, workingDirectory, measure } = content;
  options.onRead(measure?.sizeBytes ?? 0);
  if (target === undefined) return undefined;
  if (options.asksFirst && sessionId !== undefined && measure !== undefined) {
    const { sha256 } = measure;
    const transcript = await retry(() => target.find({ sessionId, sha256 }, signal));
    if (transcript !== undefined) return { transcript, arrival: 'already-there' };
  }
  if (options.isDryRun) return undefined;

  const body = createBody(content, measure === undefined ? options.onRead : () => {});
  const found = workingDirectory === null ? undefined : await options.readRepository(workingDirectory);
  const { sizeBytes, sha256 } = measure ?? { sizeBytes: undefined, sha256: undefined };
  const delivery = { path: source.path, ...found, sizeBytes, sha256, open: body.open };
  const send = (): ReturnType<DeliveryTarget['send']> => target.send(delivery, signal);
  const maxAttempts = measure === undefined ? 1 : undefined;
  const { transcript, isDuplicate, isHealed } = await retry(() => body.attempt(send), maxAttempts);
  return { transcript, arrival: isHealed ? 'healed' : isDuplicate ? 'already-there' : 'ours' };
}

/** Records errors of the content itself, which a target may report as connection errors. */
function createBody(content: SourceContent, onRead: (bytes: number) => void) {
  const failures: unknown[] = [];
  return {
    async *open(): AsyncGenerator<Uint8Array> {
      const chunks = content.open()[Symbol.asyncIterator]();
      const readNext = (): Promise<IteratorResult<Uint8Array>> =>
        chunks.next().catch((error: unknown) => {
          failures.push(error);
          throw error;
        });
      try {
        for (let next = await readNext(); !next.done; next = await readNext()) {
          onRead(next.value.length);
          yield next.value;
        }
      } finally {
        await chunks.return?.();
      }
    },
    async attempt<Result>(call: () => Promise<Result>): Promise<Result> {
      failures.length = 0;
      try {
        return await call();
      } catch (error) {
        throw failures[0] ?? error;
      }
    },
  };
}
