import type { ShownBlock } from '@recount/contract/conversation';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { formatBytes } from '../format/values.ts';
import { request, toUrl } from '../server-data/client.ts';
import { useExpanded } from './expansion.ts';
import { Plain } from './fold.tsx';

type Attachment = NonNullable<ShownBlock['attachment']>;

/** More than a person reads in a page, but little enough for a browser to lay out. */
const MAX_SHOWN_BYTES = 256 * 1024;

const toAttachmentUrl = ({ id, session_id }: Attachment, query: object = {}): string =>
  toUrl('/v1/sessions/{session_id}/attachments/{attachment_id}', { session_id, attachment_id: id }, query);

/**
 * The full text of a result that was too large for its transcript. It is fetched on request and shown as text; the rest
 * can be downloaded.
 */
export function AttachedResult({ block }: { block: ShownBlock }): ReactNode {
  const { attachment } = block;
  const [isOpen, setOpen] = useExpanded(`${block.id} attachment`);
  if (attachment == null) return null;
  if (isOpen) return <AttachedText attachment={attachment} close={() => setOpen(false)} />;
  return (
    <button type="button" className="quiet more" onClick={() => setOpen(true)}>
      Full result, {formatBytes(attachment.size_bytes)}
    </button>
  );
}

function AttachedText({ attachment, close }: { attachment: Attachment; close: () => void }): ReactNode {
  const text = useQuery({
    queryKey: ['attachment', attachment.id],
    queryFn: async ({ signal }) => {
      const url = toAttachmentUrl(attachment, { redact: true, max_bytes: MAX_SHOWN_BYTES });
      return await (await request(url, { signal })).text();
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  if (text.data === undefined) return <p className="muted">{text.error?.message ?? 'Fetching …'}</p>;
  const isCut = attachment.size_bytes > MAX_SHOWN_BYTES;
  return (
    <>
      <Plain text={text.data} />
      <p className="muted">
        {isCut && `The first ${formatBytes(MAX_SHOWN_BYTES)} of ${formatBytes(attachment.size_bytes)}. `}
        <a href={toAttachmentUrl(attachment)} download>
          Download
        </a>{' '}
        <button type="button" className="quiet" onClick={close}>
          Hide
        </button>
      </p>
    </>
  );
}
