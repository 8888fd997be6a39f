import type { Session, SessionListQuery } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import { toShortModel, toShortPath } from '../../format/values.ts';
import type { Column } from '../../ui/data-table.tsx';
import { Count, Duration, Money, Time, Tokens } from '../../ui/figures.tsx';
import { toTitle } from './to-title.ts';

type SessionColumn = Column<Session, NonNullable<SessionListQuery['sort']>>;

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

export const COLUMNS: readonly SessionColumn[] = [
  {
    id: 'title',
    label: 'Session',
    width: 'minmax(200px, 4fr)',
    cell: (session) => (
      <Link to="/sessions/$sessionId" params={{ sessionId: session.session_id } as never} title={toTitle(session)}>
        {session.is_subagent && <span className="tag">sub-agent</span>} {toTitle(session)}
      </Link>
    ),
  },
  text('agent', 'Agent', '106px', ({ agent }) => agent),
  {
    id: 'project',
    label: 'Project',
    width: 'minmax(110px, 1fr)',
    cell: ({ project }) => <span title={project ?? ''}>{toShortPath(project).split('/').at(-1)}</span>,
  },
  text('branch', 'Branch', 'minmax(90px, 0.8fr)', ({ git_branch }) => git_branch),
  text('repository', 'Repository', 'minmax(120px, 1fr)', ({ repository }) => repository),
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
    ({ cost_estimate_usd, unpriced_count, output_only_count }) => {
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
    },
    'cost_estimate_usd',
    // "+? $12,345.67"
    '112px',
  ),
  text('person', 'Person', '120px', ({ person }) => person),
  text('machine', 'Machine', '120px', ({ machine }) => machine),
  text('uploader', 'Uploaded by', '120px', ({ uploader_key_id }) => uploader_key_id),
  text('version', 'Agent version', '104px', ({ agent_version }) => agent_version),
];

/** For windows that are wide enough. */
export const DEFAULT_COLUMNS = ['agent', 'project', 'models', 'last', 'duration', 'messages', 'out', 'cost'];

/** For phones. */
export const NARROW_COLUMNS = ['cost'];
