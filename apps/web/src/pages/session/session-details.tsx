import type { Session, SessionDetail } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import { type ComponentProps, type ReactNode, useState } from 'react';
import { formatBytes, formatMoney, MIN_SHOWN_PART } from '../../format/values.ts';
import { toUrl } from '../../server-data/client.ts';
import { Count, Money, Time } from '../../ui/figures.tsx';
import { SessionFigures, useSessionTotals } from './session-figures.tsx';

/** The figures of a session, the command that resumes it, its caveats, versions and sub-agents. */
export const SessionDetails = ({
  session,
  subagents,
  changes,
  children,
}: {
  session: SessionDetail;
  subagents: readonly Session[];
  changes: ComponentProps<typeof SessionFigures>['changes'];
  /** More to open, beside the versions. */
  children: ReactNode;
}): ReactNode => (
  <>
    <SessionFigures session={session} changes={changes} />
    {session.resume_command !== null && <Resume command={session.resume_command} />}
    <SessionCaveats session={session} />
    <div className="row session-more">
      <Versions session={session} />
      {children}
      {subagents.length > 0 && <SubagentList subagents={subagents} />}
    </div>
  </>
);

const Resume = ({ command }: { command: string }): ReactNode => (
  <p className="resume">
    <code>{command}</code> <CopyResume command={command} />{' '}
    <span className="muted">resumes it on its machine, in its folder.</span>
  </p>
);

function CopyResume({ command }: { command: string }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  return (
    <button type="button" onClick={() => void navigator.clipboard.writeText(command).then(() => setCopied(true))}>
      {isCopied ? 'Copied' : 'Copy'}
      <span className="hidden-label"> the command that resumes it</span>
    </button>
  );
}

/** The transcripts of a session. */
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
            {toVisible(each.title)}
          </Link>{' '}
          · <Count value={each.total_messages} /> messages · <Money value={each.cost_estimate_usd} />
        </li>
      ))}
    </ul>
  </details>
);

/** Known inaccuracies of the figures, in sentences. */
function SessionCaveats({ session }: { session: SessionDetail }): ReactNode {
  const { usage, tokens_in, output_only_count: outputOnly, disagreeing_response_count: disagreeing } = session;
  const { transcripts, extended_by: extensions } = session;
  const { unfinalised, unpriced } = usage.own;
  const missing = useSessionTotals(session).data?.caveats.unfinalised.estimated_cost_usd ?? 0;
  const issues = transcripts.reduce((sum, { error_count }) => sum + error_count, 0);
  const lines = [
    tokens_in === null && 'Tokens and cost are unknown, because the transcript has no usage.',
    outputOnly > 0 &&
      `${outputOnly.toLocaleString()} responses have only output, because a run of the agent was cut off before it reported the rest. Tokens and cost are too low.`,
    unpriced.responses > 0 && `${unpriced.responses.toLocaleString()} responses have no price and are not in the cost.`,
    unfinalised.responses > 0 &&
      (missing === 0 || missing >= (usage.own.cost_usd ?? 0) * MIN_SHOWN_PART) &&
      `${unfinalised.responses.toLocaleString()} responses have incomplete output counts. Actual output is about ${Math.max(0, unfinalised.estimated_tokens_out - unfinalised.tokens_out).toLocaleString()} tokens higher (${missing > 0 ? `≈ ${formatMoney(missing)}, ` : ''}not included).`,
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
