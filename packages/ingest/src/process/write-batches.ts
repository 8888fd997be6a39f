import type { TranscriptBatch, TranscriptSummary } from '@recount/core';
import type { IngestCounts, TranscriptWriter } from '@recount/db';
import type { KeptRows } from './resume-point.ts';

/** Issues stored with their place; beyond it they are only counted. */
const MAX_STORED_ISSUES = 1000;

type Batches = AsyncGenerator<TranscriptBatch, TranscriptSummary>;

export interface BatchWriter {
  /** Writes every batch, and gives the copier all that was held back. */
  writeAll(batches: Batches): Promise<void>;
  toResult(): { summary: TranscriptSummary; counts: IngestCounts };
}

/** Writes a transcript's batches and counts what it wrote, beside the rows of a shorter version that stay. */
export function createBatchWriter(writer: TranscriptWriter, kept?: KeptRows): BatchWriter {
  const issuesByCode: Record<string, number> = { ...kept?.counts.issuesByCode };
  const counts: IngestCounts = { contentBlocks: 0, errors: 0, warnings: 0, ...kept?.counts, issuesByCode };
  let storedIssueCount = kept?.numbers.issue ?? 0;
  let summary: TranscriptSummary | undefined;

  const write = async (batch: TranscriptBatch): Promise<void> => {
    counts.contentBlocks += batch.contentBlocks.length;
    for (const { code, severity, count } of batch.issues) {
      if (severity === 'error') counts.errors++;
      else counts.warnings++;
      issuesByCode[code] = (issuesByCode[code] ?? 0) + count;
    }
    const issues = batch.issues.slice(0, MAX_STORED_ISSUES - storedIssueCount);
    storedIssueCount += issues.length;
    await writer.write({ ...batch, issues });
  };

  return {
    async writeAll(batches) {
      try {
        for (;;) {
          const next = await batches.next();
          if (next.done) {
            await writer.finish();
            summary = next.value;
            return;
          }
          await write(next.value);
        }
      } finally {
        // Where writing failed, the source is still open.
        await batches.return(undefined as never);
      }
    },
    toResult() {
      if (summary === undefined) throw new Error('The batches have not been written');
      return { summary, counts };
    },
  };
}
