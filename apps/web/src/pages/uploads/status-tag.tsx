import type { Transcript } from '@recount/contract';
import type { ReactNode } from 'react';
import { formatCounted } from '../../format/values.ts';

const MEANINGS: Readonly<Record<Transcript['status'], string>> = {
  queued: 'Stored, waiting for a worker',
  processing: 'A worker reads it',
  ingested: 'Its rows are stored',
  superseded: 'A longer transcript of the session contains it',
  failed: 'Failed after several attempts; its bytes are kept',
};

/** A transcript's status, and whether some of its lines had faults. */
export function StatusTag({
  transcript: { status, is_diverged, error_count, warning_count },
}: {
  transcript: Transcript;
}): ReactNode {
  return (
    <>
      <span className={status === 'failed' ? 'tag error' : 'tag'} title={MEANINGS[status]}>
        {status}
      </span>{' '}
      {is_diverged && (
        <span
          className="tag"
          title="It diverged from the primary transcript of its session, so neither is the beginning of the other"
        >
          diverged
        </span>
      )}{' '}
      {error_count > 0 && <span className="tag error">{formatCounted(error_count, 'error')}</span>}{' '}
      {warning_count > 0 && <span className="tag warn">{formatCounted(warning_count, 'note')}</span>}
    </>
  );
}
