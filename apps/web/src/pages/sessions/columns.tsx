import type { Session, SessionTotals } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { toPlainName } from '../../format/plain-name.ts';
import { toShortModel, toShortPath } from '../../format/values.ts';
import type { Column } from '../../ui/data-table.tsx';
import { Count, Duration, Money, Time, Tokens } from '../../ui/figures.tsx';
import { Icon } from '../../ui/icon.tsx';
import { type ListSort, toListSearch } from './list-query.ts';

type SessionColumn = Column<Session, ListSort>;

const text = (
  id: string,
  label: string,
  width: string,
  toText: (session: Session) => string | null,
): SessionColumn => ({
  id,
  label,
  width,
  cell: (session) => {
    const found = toText(session);
    return <span title={found ?? ''}>{found === null ? '–' : toVisible(found)}</span>;
  },
});

const figure = (
  id: string,
  label: string,
  cell: SessionColumn['cell'],
  sort?: SessionColumn['sort'],
  width = '78px',
): SessionColumn => ({
  id,
  label,
  width,
  isFigure: true,
  cell,
  ...(sort !== undefined && { sort }),
});

type Costs = Pick<Session, 'cost_estimate_usd' | 'unpriced_count' | 'output_only_count'>;

/** Width of the boxes that select. */
export const TICK_PX = 32;

/** Says if it lacks something. */
function Cost({ of: { cost_estimate_usd, unpriced_count, output_only_count } }: { of: Costs }): ReactNode {
  const lacks = [
    output_only_count > 0 ? [`${output_only_count} responses have only output`] : [],
    unpriced_count > 0 && cost_estimate_usd !== null ? [`${unpriced_count} responses have no price`] : [],
  ].flat();
  return (
    <>
      {lacks.length > 0 && (
        <span className="tag warn" title={`${lacks.join(', ')}: the cost is too low`}>
          +?
        </span>
      )}{' '}
      <Money value={cost_estimate_usd} />
    </>
  );
}

export const COLUMNS: readonly SessionColumn[] = [
  {
    id: 'title',
    label: 'Session',
    width: 'minmax(200px, 4fr)',
    cell: (session) => (
      <Link
        to="/sessions/$sessionId"
        params={{ sessionId: session.session_id } as never}
        search={toListSearch as never}
        title={toVisible(session.title)}
      >
        {session.is_subagent && <span className="tag">sub-agent</span>}{' '}
        {session.is_starred && (
          <span className="star" role="img" aria-label="Starred">
            ★
          </span>
        )}{' '}
        {toVisible(session.title)}
      </Link>
    ),
  },
  text('tags', 'Tags', 'minmax(90px, 0.8fr)', ({ tags }) => (tags.length === 0 ? null : tags.join(', '))),
  text('note', 'Note', 'minmax(120px, 1fr)', ({ note }) => note),
  {
    id: 'agent',
    label: 'Agent',
    width: '124px',
    cell: ({ agent }) => (
      <span title={agent}>
        <Icon name={`agent-${agent}`} />
        {toVisible(agent)}
      </span>
    ),
  },
  {
    id: 'project',
    label: 'Folder',
    width: 'minmax(110px, 1fr)',
    cell: ({ project }) => <span title={project ?? ''}>{toShortPath(project).split('/').at(-1)}</span>,
  },
  text('branch', 'Branch', 'minmax(90px, 0.8fr)', ({ git_branch }) => git_branch),
  {
    id: 'repository',
    label: 'Repository',
    width: 'minmax(110px, 1fr)',
    cell: ({ repository }) => (
      <span title={repository ?? ''}>{repository === null ? '–' : toPlainName('repository', repository, [])}</span>
    ),
  },
  {
    id: 'person',
    label: 'Person',
    width: 'minmax(90px, 0.8fr)',
    cell: ({ person, sent_person: sent }) => (
      <span title={person === sent ? (person ?? '') : `${person}, uploaded as ${sent}`}>
        {person === null ? '–' : toPlainName('person', person, [])}
      </span>
    ),
  },
  {
    id: 'models',
    label: 'Models',
    width: 'minmax(100px, 1fr)',
    cell: ({ models }) => <span title={models.join(', ')}>{models.map(toShortModel).join(', ') || '–'}</span>,
  },
  {
    id: 'last',
    label: 'Last activity',
    width: '138px',
    sort: 'last_timestamp',
    cell: ({ last_timestamp }) => <Time iso={last_timestamp} />,
  },
  {
    id: 'first',
    label: 'Started',
    width: '138px',
    sort: 'first_timestamp',
    cell: ({ first_timestamp }) => <Time iso={first_timestamp} />,
  },
  figure('duration', 'Duration', ({ duration_ms }) => <Duration ms={duration_ms} />, 'duration_ms'),
  figure('messages', 'Messages', ({ total_messages }) => <Count value={total_messages} />, 'total_messages'),
  figure('prompts', 'User', ({ user_messages }) => <Count value={user_messages} />),
  figure('tools', 'Tool calls', ({ tool_use_count }) => <Count value={tool_use_count} />),
  figure('in', 'Input', ({ tokens_in }) => <Tokens value={tokens_in} />),
  figure('out', 'Output', ({ tokens_out }) => <Tokens value={tokens_out} />, 'tokens_out'),
  figure('read', 'Cache read', ({ cache_read }) => <Tokens value={cache_read} />),
  figure('write', 'Cache write', ({ cache_write }) => <Tokens value={cache_write} />),
  figure(
    'cost',
    'Cost',
    (session) => <Cost of={session} />,
    'cost_estimate_usd',
    // "+? $12,345.67"
    '112px',
  ),
  text('machine', 'Machine', '120px', ({ machine }) => machine),
  text('uploader', 'Uploaded by', '120px', ({ uploader_key_id }) => uploader_key_id),
  text('version', 'Agent version', '104px', ({ agent_version }) => agent_version),
];

const COUNTS = { messages: 'total_messages', prompts: 'user_messages', tools: 'tool_use_count' } as const;
const TOKENS = { in: 'tokens_in', out: 'tokens_out', read: 'cache_read', write: 'cache_write' } as const;

/** The sum of a column over all sessions that pass the filters; undefined for columns without a sum. */
export function toTotal(id: string, totals: SessionTotals): ReactNode {
  if (id === 'title')
    return (
      <span title="Sessions count whole, and what forks share counts in each; reports count every response once">
        Total of <Count value={totals.sessions} /> {totals.sessions === 1 ? 'session' : 'sessions'}
      </span>
    );
  if (id === 'cost') return <Cost of={totals} />;
  const count = COUNTS[id as keyof typeof COUNTS];
  if (count !== undefined) return <Count value={totals[count]} />;
  const tokens = TOKENS[id as keyof typeof TOKENS];
  return tokens === undefined ? undefined : <Tokens value={totals[tokens]} />;
}

/** For windows that are wide enough. */
const DEFAULT_COLUMNS = ['agent', 'repository', 'person', 'models', 'last', 'duration', 'messages', 'out', 'cost'];

/** Columns to leave out where there is no room for all, the first one first. */
const LEFT_OUT = ['duration', 'messages', 'out', 'person', 'models', 'repository', 'agent', 'last'];

const toMinWidth = (ids: readonly string[]): number =>
  COLUMNS.filter(({ id }) => id === 'title' || ids.includes(id)).reduce(
    (sum, { width }) => sum + Number(/(\d+)px/.exec(width)?.[1] ?? 0),
    TICK_PX,
  );

/** The columns that fit into a width, so that the cost is in sight without scrolling. */
export function fitColumns(widthPx: number): string[] {
  let ids = DEFAULT_COLUMNS;
  for (const id of LEFT_OUT) {
    if (toMinWidth(ids) <= widthPx) break;
    ids = ids.filter((each) => each !== id);
  }
  return ids;
}
