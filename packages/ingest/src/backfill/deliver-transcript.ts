import type { TranscriptSource } from '@recount/sources';
import type { BackfillTarget, StoredTranscript } from './backfill-target.ts';
import type { SourceContent } from './read-content.ts';
import { type RetryPolicy, withRetries } from './with-retries.ts';

export interface DeliverOptions {
  isDryRun: boolean;
  /** Whether to ask the target first if it has the bytes already. */
  asksFirst: boolean;
  retryPolicy: RetryPolicy;
  signal: AbortSignal;
  onRead(bytes: number): void;
}

/**
 * Brings one transcript to the target, unless that has it. Returns what the target then has; undefined in a dry run where it
 * does not have it. Rejects with a BackfillTargetError, or with what reading the content throws.
 */
export async function deliverTranscript(
  target: BackfillTarget | undefined,
  source: TranscriptSource,
  content: SourceContent,
  options: DeliverOptions,
): Promise<{ transcript: StoredTranscript; isOurs: boolean } | undefined> {
  const { retryPolicy, signal } = options;
  const { sessionId, measure } = content;
  options.onRead(measure?.sizeBytes ?? 0);
  if (target === undefined) return undefined;
  if (options.asksFirst && sessionId !== undefined && measure !== undefined) {
    const { sha256 } = measure;
    const transcript = await withRetries(() => target.find({ sessionId, sha256 }, signal), retryPolicy, signal);
    if (transcript !== undefined) return { transcript, isOurs: false };
  }
  if (options.isDryRun) return undefined;

  const body = createBody(content, measure === undefined ? options.onRead : () => {});
  const delivery = { path: source.path, sizeBytes: measure?.sizeBytes, open: body.open };
  const policy = measure === undefined ? { ...retryPolicy, maxAttempts: 1 } : retryPolicy;
  const receive = (): ReturnType<BackfillTarget['receive']> => target.receive(delivery, signal);
  const { transcript, isDuplicate } = await withRetries(() => body.attempt(receive), policy, signal);
  return { transcript, isOurs: !isDuplicate };
}

/** Remembers what went wrong with the content itself: a target may report that as a fault of the connection. */
function createBody(content: SourceContent, onRead: (bytes: number) => void) {
  const failures: unknown[] = [];
  return {
    async *open(): AsyncGenerator<Uint8Array> {
      try {
        for await (const chunk of content.open()) {
          onRead(chunk.length);
          yield chunk;
        }
      } catch (error) {
        failures.push(error);
        throw error;
      }
    },
    async attempt<Result>(receive: () => Promise<Result>): Promise<Result> {
      failures.length = 0;
      try {
        return await receive();
      } catch (error) {
        throw failures[0] ?? error;
      }
    },
  };
}
