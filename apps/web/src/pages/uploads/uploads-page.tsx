import './uploads.css';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useId, useState } from 'react';
import { formatBytes, formatCount } from '../../format/values.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { useShowsFigures } from '../../server-data/use-shows.ts';
import { useUrlState } from '../../ui/use-url-state.ts';
import { StatusTag } from './status-tag.tsx';
import { TranscriptDetails } from './transcript-details.tsx';
import { TranscriptList } from './transcript-list.tsx';
import { addFiles, sendAgain, type Upload, type UploadState, useUploads } from './upload-queue.ts';

const SHOWN_UPLOADS = 30;
const WATCH_INTERVAL_MS = 1500;

/** Uploads transcripts, and shows the status of each. A key without figures of everyone sees the uploads of this visit. */
export function UploadsPage(): ReactNode {
  const [{ transcript }, change] = useUrlState();
  const showsAll = useShowsFigures();
  return (
    <div className="uploads-page">
      <h1>Uploads</h1>
      <DropZone />
      <UploadProgress />
      {showsAll ? (
        <TranscriptList />
      ) : (
        <p className="muted">
          What you upload is listed here while this page is open, and then under <Link to="/sessions">Sessions</Link>.
        </p>
      )}
      {transcript !== undefined && (
        <TranscriptDetails transcriptId={transcript} close={() => change({ transcript: undefined })} />
      )}
    </div>
  );
}

function DropZone(): ReactNode {
  const filesId = useId();
  const folderId = useId();
  const take = (input: HTMLInputElement): void => {
    const files = [...(input.files ?? [])];
    void addFiles(files.map((file) => ({ path: file.webkitRelativePath || file.name, file })));
    input.value = '';
  };
  return (
    <section className="drop-zone" aria-label="Choose what to upload">
      <p>
        Drop transcripts, folders or archives on this page: <code>.jsonl</code>, <code>.json</code>,{' '}
        <code>.ndjson</code>, also with <code>.gz</code>, <code>.zst</code> or <code>.br</code>; <code>.zip</code>,{' '}
        <code>.tar</code>, <code>.tar.gz</code>.
      </p>
      <div className="row">
        <label htmlFor={filesId} className="file-button">
          Choose files
        </label>
        <input id={filesId} type="file" multiple onChange={({ target }) => take(target)} />
        <label htmlFor={folderId} className="file-button">
          Choose a folder
        </label>
        <input
          id={folderId}
          type="file"
          multiple
          ref={(input) => input?.setAttribute('webkitdirectory', '')}
          onChange={({ target }) => take(target)}
        />
      </div>
      <p className="muted">Duplicates are skipped, so you can upload a folder again.</p>
    </section>
  );
}

/** Files sent since the page was loaded, refused ones first, then those in progress. */
function UploadProgress(): ReactNode {
  const { uploads, leftOut, isOpening, pauseReason } = useUploads();
  if (uploads.length === 0 && leftOut.size === 0)
    return isOpening ? <p role="status">Reading what you chose …</p> : null;
  const refused = uploads.filter(({ state }) => state === 'refused');
  const others = uploads.filter(({ state }) => state !== 'refused');
  const sent = others.filter(({ state }) => state === 'done').length;
  const shownRefused = refused.slice(0, SHOWN_UPLOADS);
  const shown = [...shownRefused, ...others.toReversed().slice(0, SHOWN_UPLOADS)];
  const hidden = uploads.length - refused.length - (shown.length - shownRefused.length);
  return (
    <section className="panel" aria-labelledby="this-visit">
      <div className="between">
        <h2 id="this-visit">From this browser</h2>
        <p role="status" className="muted">
          {formatCount(sent)} of {formatCount(uploads.length)} stored
          {refused.length > 0 && `, ${formatCount(refused.length)} not taken`}
          {leftOut.size > 0 && `; left out: ${toLeftOutText(leftOut)}`}
          {isOpening && '; reading more …'}
          {pauseReason !== undefined && `; waiting to continue: ${pauseReason}`}
        </p>
        {refused.filter(({ opened }) => opened !== undefined).length > 1 && (
          <button type="button" onClick={() => sendAgain()}>
            Send all again
          </button>
        )}
      </div>
      <progress aria-label="Files sent" max={uploads.length} value={sent + refused.length} />
      <div className="scroll-x" tabIndex={0} role="region" aria-label="Files of this visit">
        <table className="plain-table">
          <tbody>
            {shown.map((upload) => (
              <UploadRow key={upload.id} upload={upload} />
            ))}
          </tbody>
        </table>
      </div>
      <OtherRefused uploads={refused.slice(SHOWN_UPLOADS)} />
      {hidden > 0 && <p className="muted">{formatCount(hidden)} more are in the list below once they are stored.</p>}
    </section>
  );
}

/** There may be as many as files in the folder, so they are rendered only while they can be seen. */
function OtherRefused({ uploads }: { uploads: readonly Upload[] }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  if (uploads.length === 0) return null;
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{formatCount(uploads.length)} more were not taken</summary>
      {isOpen && (
        <ul>
          {uploads.map(({ id, path, reason }) => (
            <li key={id}>
              {toVisible(path)}: {reason}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

/** As `3 by name, 1 as a link`. */
const toLeftOutText = (leftOut: UploadState['leftOut']): string =>
  [...leftOut].map(([why, count]) => `${formatCount(count)} ${why}`).join(', ');

function UploadRow({ upload: { id, path, sizeBytes, state, receipt, reason, opened } }: { upload: Upload }): ReactNode {
  return (
    <tr>
      <td className="clip upload-path" title={path}>
        {toVisible(path)}
      </td>
      <td className="end">{formatBytes(sizeBytes)}</td>
      <td>
        {receipt !== undefined ? (
          <Ingestion transcriptId={receipt.transcript_id} rawObject={receipt.raw_object} />
        ) : state === 'refused' ? (
          <>
            <span className="tag error">not taken</span> {reason}{' '}
            {opened !== undefined && (
              <button type="button" onClick={() => sendAgain(id)}>
                Send again
              </button>
            )}
          </>
        ) : (
          <span className="muted">{state === 'sending' ? 'sending …' : 'waits'}</span>
        )}
      </td>
    </tr>
  );
}

const OUTCOMES: Readonly<Record<string, string>> = {
  duplicate: 'was here already',
  healed: 'replaced a damaged one',
  expired: 'was deleted by retention, and stays so',
};

/** Watches a transcript until it is ingested or has failed. */
function Ingestion({ transcriptId, rawObject }: { transcriptId: string; rawObject: string }): ReactNode {
  const [isSettled, setSettled] = useState(false);
  const { data } = useAnswer(
    '/v1/transcripts/{transcript_id}',
    {},
    {
      parameters: { transcript_id: transcriptId },
      ...(!isSettled && { refetchIntervalMs: WATCH_INTERVAL_MS }),
    },
  );
  if (data === undefined) return <span className="muted">stored</span>;
  const isWaiting = data.status === 'queued' || data.status === 'processing';
  if (!isWaiting && !isSettled) setSettled(true);
  return (
    <span className="row">
      <StatusTag transcript={data} />
      {OUTCOMES[rawObject] !== undefined && <span className="muted">{OUTCOMES[rawObject]}</span>}
      {data.status === 'failed' || data.error_count > 0 ? (
        <Link to="/uploads" search={{ transcript: transcriptId } as never} resetScroll={false}>
          What is wrong
        </Link>
      ) : (
        !isWaiting && (
          <Link to="/sessions/$sessionId" params={{ sessionId: data.session_id } as never}>
            Open the session
          </Link>
        )
      )}
    </span>
  );
}
