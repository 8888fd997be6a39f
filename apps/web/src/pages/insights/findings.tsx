import type { FindingKind, FindingsReport } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatCount, formatCounted, formatMoney, toShortModel, toShortPath } from '../../format/values.ts';
import type { Query } from '../../server-data/client.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Caveats } from '../../ui/caveats.tsx';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Count, Duration, Money, Time, Tokens } from '../../ui/figures.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import type { UrlChange, UrlState } from '../../ui/use-url-state.ts';

export type Filter = Pick<Query<'/v1/analytics/usage'>, 'from' | 'to' | 'time_zone'>;
type Finding = FindingsReport['rows'][number];
type KindFigures = FindingsReport['kinds'][number];
type Figure = 'times' | 'pause' | 'tokens' | 'estimated' | 'cost';

interface Kind {
  label: string;
  /** An explanation of the finding and its cost. */
  explanation: string;
  /** Advice for the reader. */
  advice: string;
  figures: readonly Figure[];
}

const KINDS: Readonly<Record<FindingKind, Kind>> = {
  'cold-cache': {
    label: 'Cache expired',
    explanation:
      'Responses after a pause that outlasted the cache. The cost is the extra cost of writing those tokens again instead of reading them.',
    advice: 'Finish or compact before a break; start a new session after a long one.',
    figures: ['pause', 'tokens', 'cost'],
  },
  'repeated-call': {
    label: 'Repeated calls',
    explanation:
      'The same tool with the same input, three times in a row or more. The cost belongs to the responses that called again.',
    advice: 'Check what it was waiting for. A command that ends by itself needs no polling.',
    figures: ['times', 'estimated', 'cost'],
  },
  'repeated-error': {
    label: 'Repeated errors',
    explanation:
      'A tool that failed with the same error three times in a row or more. The cost belongs to the responses that tried again.',
    advice: 'Explain in the agent’s instructions what makes this fail here.',
    figures: ['times', 'estimated', 'cost'],
  },
  'repeated-read': {
    label: 'Re-read files',
    explanation:
      'The same part of a file read three times or more in a session, unedited in between. The cost belongs to the responses that read again.',
    advice: 'Often follows a compaction; smaller tasks need fewer of them.',
    figures: ['times', 'estimated', 'cost'],
  },
  'large-result': {
    label: 'Oversized tool output',
    explanation:
      'Tool results of 40 kB or more. They stay in the context and are paid for by each response after them; ≈ tokens are a quarter of their bytes.',
    advice: 'Let commands print less, and files be read in parts.',
    figures: ['estimated'],
  },
  'unfinished-session': {
    label: 'Unfinished sessions',
    explanation:
      'The last prompt has no answer, or the last call no result, for an hour. The cost is the session’s own.',
    advice: 'Check whether the work was continued elsewhere.',
    figures: ['tokens', 'cost'],
  },
  'expensive-session': {
    label: 'Expensive sessions',
    explanation: 'Sessions whose own cost is 10 or more.',
    advice: 'Look at the timeline. Cost grows with the length of the context.',
    figures: ['tokens', 'cost'],
  },
};

const ORDER = Object.keys(KINDS) as FindingKind[];
const SHOWN_ROWS = 200;

/** The kinds of findings, and the findings of the selected kind. Each links to its message. */
export function Findings({
  filter,
  state,
  change,
}: {
  filter: Filter;
  state: UrlState;
  change: (change: UrlChange) => void;
}): ReactNode {
  const summary = useAnswer('/v1/analytics/findings', { ...filter, limit: 1 });
  return (
    <section aria-labelledby="findings" className="findings">
      <h2 id="findings">Potential waste</h2>
      <p className="muted">Measured, not estimated. Categories can overlap, so they don’t add up.</p>
      <Answered of={summary}>
        {({ kinds, caveats }) => {
          const figuresOf = (kind: FindingKind): KindFigures | undefined => kinds.find((each) => each.kind === kind);
          const chosen = ORDER.find((kind) => kind === state.kind);
          const shown = chosen ?? ORDER.find((kind) => (figuresOf(kind)?.findings ?? 0) > 0) ?? 'cold-cache';
          return (
            <>
              <div className="finding-kinds" role="group" aria-label="Kinds of findings">
                {ORDER.map((kind) => (
                  <KindCard
                    key={kind}
                    kind={kind}
                    figures={figuresOf(kind)}
                    isShown={kind === shown}
                    show={() => change({ kind })}
                  />
                ))}
              </div>
              <Caveats caveats={caveats} />
              <FindingTable key={shown} kind={shown} filter={filter} />
            </>
          );
        }}
      </Answered>
    </section>
  );
}

interface KindCardProps {
  kind: FindingKind;
  figures: KindFigures | undefined;
  isShown: boolean;
  show: () => void;
}

function KindCard({ kind, figures, isShown, show }: KindCardProps): ReactNode {
  const { findings = 0, sessions = 0, cost_usd = null, estimated_tokens = 0 } = figures ?? {};
  const isNone = findings === 0;
  const hasCost = KINDS[kind].figures.includes('cost');
  return (
    <button type="button" className="finding-kind" aria-pressed={isShown} onClick={show}>
      <span>{KINDS[kind].label}</span>
      <strong className={isNone ? 'none' : undefined}>
        {isNone ? 'none' : hasCost ? formatMoney(cost_usd) : <Tokens value={estimated_tokens} />}
      </strong>
      <span className="muted">
        {isNone
          ? ' '
          : `${hasCost ? '' : '≈ tokens, '}${formatCount(findings)} in ${formatCounted(sessions, 'session')}`}
      </span>
    </button>
  );
}

const figure = (id: Figure, label: string, cell: Column<Finding>['cell']): Column<Finding> => ({
  id,
  label,
  width: '92px',
  isFigure: true,
  cell,
});

const FIGURES: readonly Column<Finding>[] = [
  figure('times', 'Times', ({ times }) => <Count value={times} />),
  figure('pause', 'Pause', ({ pause_ms }) => <Duration ms={pause_ms} />),
  figure('tokens', 'Tokens', ({ tokens }) => <Tokens value={tokens} />),
  figure('estimated', '≈ Tokens', ({ estimated_tokens }) => <Tokens value={estimated_tokens} />),
  figure('cost', 'Cost', ({ cost_usd }) => <Money value={cost_usd} />),
];

const COLUMNS: readonly Column<Finding>[] = [
  {
    id: 'what',
    label: 'What',
    width: 'minmax(150px, 1.2fr)',
    cell: (finding) => (
      <Link
        to="/sessions/$sessionId"
        params={{ sessionId: finding.session_id } as never}
        search={toPlace(finding) as never}
        title={[finding.tool, finding.subject].filter(Boolean).join(' ')}
      >
        {toName(finding)}
      </Link>
    ),
  },
  {
    id: 'session',
    label: 'Session',
    width: 'minmax(140px, 2fr)',
    cell: ({ session_id, title }) => <span title={title ?? session_id}>{toVisible(title ?? session_id)}</span>,
  },
  { id: 'time', label: 'Time', width: '150px', cell: ({ timestamp }) => <Time iso={timestamp} /> },
];

const toPlace = ({ message_id }: Finding): Record<string, string> =>
  message_id === null ? {} : { message: message_id };

function toName({ kind, tool, subject, title, session_id, project }: Finding): string {
  if (kind === 'cold-cache') return toShortModel(subject);
  if (tool === null) return project === null ? toVisible(title ?? session_id) : toShortPath(project);
  return subject === null ? toVisible(tool) : `${toVisible(tool)} ${toShortPath(subject)}`;
}

function FindingTable({ kind, filter }: { kind: FindingKind; filter: Filter }): ReactNode {
  const { label, explanation, advice, figures } = KINDS[kind];
  const report = useAnswer('/v1/analytics/findings', { ...filter, kind, limit: SHOWN_ROWS });
  const columns = [...COLUMNS, ...FIGURES.filter(({ id }) => figures.includes(id as Figure))];
  return (
    <>
      <p>
        {explanation} <span className="muted">{advice}</span>
      </p>
      <Answered of={report}>
        {({ rows, truncated }) =>
          rows.length === 0 ? (
            <Empty title="Nothing in this time range">
              <p>Choose a longer time range, or another kind above.</p>
            </Empty>
          ) : (
            <>
              <DataTable
                label={label}
                columns={columns}
                rows={rows}
                toId={({ session_id, line_number, timestamp }) => `${session_id} ${line_number} ${timestamp}`}
                toHref={(finding) => {
                  const { message } = toPlace(finding);
                  const path = `/sessions/${encodeURIComponent(finding.session_id)}`;
                  return message === undefined ? path : `${path}?message=${encodeURIComponent(message)}`;
                }}
              />
              {truncated && <p className="muted">The first {formatCount(rows.length)} are shown.</p>}
            </>
          )
        }
      </Answered>
    </>
  );
}
