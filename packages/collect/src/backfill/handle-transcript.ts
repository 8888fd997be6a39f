import type { TranscriptSource } from '@recount/storage/sources';
import { createStopRule } from '../deliver/delivery-retry.ts';
import type { DeliveryTarget } from '../deliver/delivery-target.ts';
import type { BackfillTally } from './backfill-tally.ts';
import { type DeliverOptions, deliverTranscript } from './deliver-transcript.ts';
import { readContent } from './read-content.ts';
import type { IngestionSettler } from './settle-ingestion.ts';

interface HandleOptions extends DeliverOptions {
  /** Longer transcripts are not held in memory. */
  maxHeldBytes: number;
  /** Called if nothing more will be accepted. */
  onFatal(error: unknown): void;
}

interface HandledTranscript {
  /** Resolves when everything is done; never rejects. */
  task: Promise<void>;
  /** Resolves when the next source may be requested: immediately, unless this one can be opened only once. */
  isRead: Promise<void>;
  /** Resolves when the transcript has been read and is small; never for others. */
  isHeld: Promise<void>;
}

/** More of these stay in memory than may be read together (32 MiB for 128). */
const MAX_SMALL_BYTES = 256 * 1024;

/** Reads and delivers transcripts, and counts the outcomes. */
export function createTranscriptHandler(
  target: DeliveryTarget | undefined,
  settler: IngestionSettler | undefined,
  tally: BackfillTally,
  options: HandleOptions,
): (source: TranscriptSource) => HandledTranscript {
  const isOver = createStopRule();

  const deliver = async (source: TranscriptSource, content: Awaited<ReturnType<typeof readContent>>): Promise<void> => {
    if (typeof content === 'string') {
      tally.report.found -= 1;
      tally.countSkipped(source.location, content);
      return;
    }
    const delivered = await deliverTranscript(target, source, content, options);
    isOver(undefined);
    if (delivered === undefined) tally.count(source.location, 'new');
    else settler?.accept(source.location, delivered.transcript, delivered.arrival);
  };

  const fail = (location: string, error: unknown): void => {
    if (options.signal.aborted) return;
    tally.countFailed({ location, reason: error instanceof Error ? error.message : 'unknown error' });
    if (isOver(error)) options.onFatal(error);
  };

  return (source) => {
    const reading = readContent(source, options.maxHeldBytes, options.signal);
    const task = reading.then((content) => deliver(source, content)).catch((error) => fail(source.location, error));
    const isHeld = new Promise<void>((resolve) => {
      const resolveWhereSmall = (content: Awaited<typeof reading>): void => {
        const sizeBytes = typeof content === 'object' ? content.measure?.sizeBytes : undefined;
        if (sizeBytes !== undefined && sizeBytes <= MAX_SMALL_BYTES) resolve();
      };
      // The task reports why it cannot be read.
      reading.then(resolveWhereSmall, () => undefined);
    });
    const waitUntilRead = async (): Promise<void> => {
      const content = await reading.catch(() => undefined);
      if (typeof content === 'object' && content.measure === undefined) await task;
    };
    return { task, isHeld, isRead: source.reopenable ? Promise.resolve() : waitUntilRead() };
  };
}
