import type { Issue, Transcript } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { formatBytes, formatCount, formatCounted } from '../../format/values.ts';
import { send, toUrl } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { useRawLine } from '../../transcript/raw-line.ts';
import { Time } from '../../ui/figures.tsx';
import { Modal } from '../../ui/modal.tsx';
import { Answered, Failure } from '../../ui/states.tsx';
import { StatusTag } from './status-tag.tsx';

const SHOWN_ISSUES = 200;
const MAX_SHOWN_LENGTH = 20_000;
const WATCH_INTERVAL_MS = 2000;

const ROUTE = '/v1/transcripts/{transcript_id}';

/** A transcript's status, its faults with their places, and what can be done. */
export function TranscriptDetails({ transcriptId, close }: { transcriptId: string; close: () => void }): ReactNode {
  const parameters = { transcript_id: transcriptId };
  const transcript = useAnswer(ROUTE, {}, { parameters, refetchIntervalMs: WATCH_INTERVAL_MS });
  return (
    <Modal title="Transcript" close={close}>
      <Answered of={transcript}>
        {(found) => (
          <>
            <Facts transcript={found} />
            <Issues transcript={found} />
            <Actions transcript={found} close={close} />
          </>
        )}
      </Answered>
    </Modal>
  );
}

function Facts({ transcript }: { transcript: Transcript }): ReactNode {
  const { path, id, session_id, agent, format, size_bytes, line_count, created_at, machine } = transcript;
  const { person, sent_person: sent } = transcript;
  const from = [machine, person, person === sent ? null : `uploaded as ${sent}`].filter((each) => each !== null);
  const facts: [string, ReactNode][] = [
    ['File', path === null ? 'its uploader named none' : toVisible(path)],
    ['Status', <StatusTag key="status" transcript={transcript} />],
    [
      'Session',
      <Link key="session" to="/sessions/$sessionId" params={{ sessionId: session_id } as never}>
        {toVisible(session_id)}
      </Link>,
    ],
    ['Agent', `${agent}, format ${format}`],
    ['Size', `${formatBytes(size_bytes)}, ${formatCount(line_count)} lines`],
    ['Uploaded', <Time key="time" iso={created_at} />],
    ['From', toVisible(from.join(', ')) || 'not told'],
    ['Id', <code key="id">{id}</code>],
  ];
  return (
    <>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {transcript.failure_reason !== null && (
        <p className="failure">
          Given up after {formatCounted(transcript.attempt_count, 'attempt')}: {transcript.failure_reason}
        </p>
      )}
      {transcript.raw_damaged_at !== null && (
        <p className="failure">Its stored bytes are lost or damaged. Upload the same file again to replace it.</p>
      )}
    </>
  );
}

function Issues({ transcript: { id, error_count, warning_count } }: { transcript: Transcript }): ReactNode {
  const hasIssues = error_count + warning_count > 0;
  const list = useAnswer(
    '/v1/transcripts/{transcript_id}/issues',
    { limit: SHOWN_ISSUES },
    { parameters: { transcript_id: id }, isEnabled: hasIssues },
  );
  if (!hasIssues) return null;
  return (
    <section aria-labelledby="issues">
      <h3 id="issues">What was found wrong in its lines</h3>
      <Answered of={list}>
        {({ issues, next_cursor: next }) => (
          <ul className="issues">
            {issues.map((issue) => (
              <IssueRow key={issue.issue_number} transcriptId={id} issue={issue} />
            ))}
            {next !== null && <li className="muted">The first {formatCount(issues.length)} are shown.</li>}
          </ul>
        )}
      </Answered>
    </section>
  );
}

const ISSUE_CLASSES = { error: 'tag error', warning: 'tag warn', notice: 'tag' } as const;

function IssueRow({ transcriptId, issue }: { transcriptId: string; issue: Issue }): ReactNode {
  const { severity, code, message, line_number, byte_offset, occurrence_count: times } = issue;
  const [isOpen, setOpen] = useState(false);
  const line = useRawLine({ transcriptId, byte_offset }, isOpen);
  return (
    <li>
      <span className={ISSUE_CLASSES[severity]}>{code}</span> {message}
      {times > 1 && ` (${formatCount(times)} times)`}{' '}
      <button type="button" className="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        Line {formatCount(line_number)}
      </button>
      {isOpen && (
        <Answered of={line}>
          {(text) => (
            <pre className="issue-line" tabIndex={0}>
              {toVisible(text.slice(0, MAX_SHOWN_LENGTH))}
            </pre>
          )}
        </Answered>
      )}
    </li>
  );
}

/** Calls a route that changes the transcript, then reloads everything that shows it. */
function useChange(send: () => Promise<unknown>, onSuccess: () => void) {
  return useMutation({
    mutationFn: send,
    onSuccess: () => {
      onSuccess();
      void queryClient.invalidateQueries();
    },
  });
}

function Actions({
  transcript: { id, status, size_bytes },
  close,
}: {
  transcript: Transcript;
  close: () => void;
}): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const parameters = { transcript_id: id };
  const retry = useChange(
    () => send('post', `${ROUTE}/reparse`, { parameters }),
    () => undefined,
  );
  const remove = useChange(() => send('delete', ROUTE, { parameters }), close);
  const isOver = status !== 'queued' && status !== 'processing';
  const error = retry.error ?? remove.error;
  if (isAsking) {
    return (
      <div className="question" role="group" aria-label="Delete it?">
        <p>
          Delete this transcript? Its bytes ({formatBytes(size_bytes)}) and all of its rows are deleted for good, and
          the figures of its session change.
        </p>
        <div className="row">
          <button type="button" className="danger" disabled={remove.isPending} onClick={() => remove.mutate()}>
            {remove.isPending ? 'Deleting …' : 'Delete permanently'}
          </button>
          {/* biome-ignore lint/a11y/noAutofocus: where the focus was is gone, and this changes nothing */}
          <button type="button" autoFocus onClick={() => setAsking(false)}>
            Keep it
          </button>
        </div>
        {remove.error !== null && <Failure error={remove.error} />}
      </div>
    );
  }
  return (
    <>
      <div className="row">
        <button type="button" disabled={!isOver || retry.isPending} onClick={() => retry.mutate()}>
          Ingest again
        </button>
        <a href={toUrl(`${ROUTE}/raw`, parameters)} download>
          Download the bytes
        </a>
        <button type="button" className="danger" onClick={() => setAsking(true)}>
          Delete
        </button>
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
      {error !== null && <Failure error={error} />}
    </>
  );
}
