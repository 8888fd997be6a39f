import type { Session, SessionDetail } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatBytes, toShortModel } from '../../format/values.ts';
import { toUrl } from '../../server-data/client.ts';
import { Count, Money, Time } from '../../ui/figures.tsx';
import { toTitle } from '../sessions/to-title.ts';
import { Repository } from './repository.tsx';
import { ChangedFiles, PullRequests, useSessionChanges } from './session-changes.tsx';
import { SessionFigures } from './session-figures.tsx';
import { ShareButton } from './share-button.tsx';

/** The session's description and totals. */
export function SessionHeader({
  session,
  subagents,
  transcriptId,
}: {
  session: SessionDetail;
  subagents: readonly Session[];
  /** The version shown, if it is not the primary one. */
  transcriptId: string | undefined;
}): ReactNode {
  const changes = useSessionChanges(session, transcriptId);
  return (
    <header className="session-header">
      <div className="between">
        <p className="muted">
          <Link to="/sessions">Sessions</Link>
          {session.parent_session_id !== null && (
            <>
              {' / '}
              <Link to="/sessions/$sessionId" params={{ sessionId: session.parent_session_id } as never}>
                the session that started this sub-agent
              </Link>
            </>
          )}
        </p>
        <ShareButton sessionId={session.session_id} />
      </div>
      <h1>{toTitle(session)}</h1>
      <Facts session={session} />
      <SessionFigures session={session} changes={changes} />
      <SessionCaveats session={session} />
      <div className="row session-more">
        <Versions session={session} />
        {changes !== undefined && <ChangedFiles changes={changes} />}
        {subagents.length > 0 && <SubagentList subagents={subagents} />}
      </div>
    </header>
  );
}

/** The place of a session, and its subject. */
const Facts = ({ session }: { session: SessionDetail }): ReactNode => (
  <p className="session-facts">
    {(session.live?.running_count ?? 0) > 0 && <span className="tag running">running now</span>}
    <span>{session.agent}</span>
    {session.project !== null && (
      <Link to="/sessions" search={{ project: session.project } as never} title={session.project}>
        {toVisible(session.project)}
      </Link>
    )}
    <Repository address={session.repository} commit={session.commit_hash} />
    {session.git_branch !== null && <span className="mono">{toVisible(session.git_branch)}</span>}
    <PullRequests sessionId={session.session_id} />
    <span title={session.models.join(', ')}>{session.models.map(toShortModel).join(', ')}</span>
    <Time iso={session.first_timestamp} />
  </p>
);

/** Known inaccuracies of the figures, in sentences. */
function SessionCaveats({ session }: { session: SessionDetail }): ReactNode {
  const { usage, tokens_in, output_only_count: outputOnly, disagreeing_response_count: disagreeing } = session;
  const { transcripts, extended_by: extensions } = session;
  const { unfinalised, unpriced } = usage.own;
  const issues = transcripts.reduce((sum, { error_count }) => sum + error_count, 0);
  const lines = [
    tokens_in === null && 'Tokens and cost are unknown, because the transcript has no usage.',
    outputOnly > 0 &&
      `${outputOnly.toLocaleString()} responses have only output, because a run of the agent was cut off before it reported the rest. Tokens and cost are too low.`,
    unpriced.responses > 0 && `${unpriced.responses.toLocaleString()} responses have no price and are not in the cost.`,
    unfinalised.responses > 0 &&
      `${unfinalised.responses.toLocaleString()} responses have incomplete output counts. Actual output is about ${Math.max(0, unfinalised.estimated_tokens_out - unfinalised.tokens_out).toLocaleString()} tokens higher (not included).`,
    disagreeing > 0 && `${disagreeing.toLocaleString()} responses have other figures in other sessions.`,
    extensions.length > 0 &&
      `Extended by ${new Intl.ListFormat('en').format(extensions.map(({ person, uploader_key_id }) => person ?? `key ${uploader_key_id}`))}: this session counts for ${session.person ?? `key ${session.uploader_key_id}`}, who uploaded it first.`,
  ].filter((line) => line !== false);
  if (lines.length === 0 && issues === 0) return null;
  const faulty = transcripts.find(({ error_count }) => error_count > 0);
  return (
    <div className="caveats">
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {faulty !== undefined && (
        <p>
          <Link to="/uploads" search={{ transcript: faulty.id } as never}>
            {issues.toLocaleString()} lines could not be read wholly
          </Link>
          ; the raw bytes have them.
        </p>
      )}
    </div>
  );
}

function Versions({ session }: { session: SessionDetail }): ReactNode {
  const { transcripts, primary_transcript_id: primary } = session;
  return (
    <details>
      <summary>{transcripts.length === 1 ? 'Raw transcript' : `${transcripts.length} versions`}</summary>
      <ul className="versions">
        {transcripts.map((each) => (
          <li key={each.id}>
            <Time iso={each.created_at} /> · {each.status}
            {each.is_diverged ? ', diverged' : ''} · {formatBytes(each.size_bytes)} · {each.line_count.toLocaleString()}{' '}
            lines ·{' '}
            <a href={toUrl('/v1/transcripts/{transcript_id}/raw', { transcript_id: each.id })} download>
              Download
            </a>
            {each.status === 'ingested' && each.id !== primary && (
              <>
                {' · '}
                <Link
                  to="/sessions/$sessionId"
                  params={{ sessionId: session.session_id } as never}
                  search={{ transcript: each.id } as never}
                >
                  Read this version
                </Link>
              </>
            )}
          </li>
        ))}
      </ul>
      {!session.is_subagent && (
        <p className="muted">
          <code>recount restore {session.session_id}</code> writes it back so that its agent can resume it.
        </p>
      )}
    </details>
  );
}

const SubagentList = ({ subagents }: { subagents: readonly Session[] }): ReactNode => (
  <details>
    <summary>
      {subagents.length.toLocaleString()} {subagents.length === 1 ? 'sub-agent' : 'sub-agents'}
    </summary>
    <ul className="versions">
      {subagents.map((each) => (
        <li key={each.session_id}>
          <Link to="/sessions/$sessionId" params={{ sessionId: each.session_id } as never}>
            {toTitle(each).slice(0, 120)}
          </Link>{' '}
          · <Count value={each.total_messages} /> messages · <Money value={each.cost_estimate_usd} />
        </li>
      ))}
    </ul>
  </details>
);
