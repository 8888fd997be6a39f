import type { LiveStream } from '@recount/contract';
import type { ListedLiveStream } from '@recount/db';

/** A stream's row as the API answers it. Its schema leaves out the other columns. */
export const toLiveStream = (row: ListedLiveStream): LiveStream => ({
  ...row,
  stream_id: row.id,
  transcript_id: row.state === 'closed' ? row.transcript_id : null,
});
