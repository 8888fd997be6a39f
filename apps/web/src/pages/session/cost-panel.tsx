import type { Outline, SessionCosts, SessionDetail } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { toPartName, toRate, toShare } from '@recount/contract/cost-words';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { toShortModel } from '../../format/values.ts';
import { ExportMenu, toFigureColumns, toTextColumn } from '../../parts/export-menu.tsx';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Count, Duration, Money, Time, Tokens } from '../../ui/figures.tsx';
import { PlainTable } from '../../ui/plain-table.tsx';
import { Answered } from '../../ui/states.tsx';

/** Cache breaks that are listed. */
const MAX_BREAKS = 10;

const PART_COLUMNS = [
  toTextColumn('Tokens of', 'name'),
  toTextColumn('Model', 'model'),
  ...toFigureColumns([
    { kind: 'tokens', label: 'Tokens', path: 'tokens' },
    { kind: 'money', label: 'Cost', path: 'cost_usd' },
  ]),
];
const TURN_COLUMNS = [
  ...toFigureColumns([{ kind: 'count', label: 'Line', path: 'line_number' }]),
  toTextColumn('Time', 'timestamp'),
  ...toFigureColumns([
    { kind: 'tokens', label: 'Input', path: 'tokens_in' },
    { kind: 'tokens', label: 'Cache read', path: 'cache_read' },
    { kind: 'tokens', label: 'Cache write', path: 'cache_write' },
    { kind: 'tokens', label: 'Output', path: 'tokens_out' },
    { kind: 'money', label: 'Cost', path: 'cost_usd' },
  ]),
];

/** The makeup of a session's cost, as `recount why` tells it, with its most expensive turns as links. */
export function CostPanel({ session, outline }: { session: SessionDetail; outline: Outline | undefined }): ReactNode {
  const costs = useAnswer('/v1/sessions/{session_id}/costs', {}, { parameters: { session_id: session.session_id } });
  return (
    <Answered of={costs}>
      {(data) => (
        <div className="cost-panel">
          <div className="menu-above">
            <ExportMenu
              title="Cost by token class and model"
              columns={PART_COLUMNS}
              rows={data.parts.map((part) => ({ ...part, name: toPartName(part) }))}
              filters={{ session_id: session.session_id }}
              time={{}}
            />
            <Parts costs={data} total={session.cost_estimate_usd} />
          </div>
          {data.most_expensive.length > 0 && (
            <div className="menu-above">
              <ExportMenu
                title="Most expensive turns"
                columns={TURN_COLUMNS}
                rows={data.most_expensive}
                filters={{ session_id: session.session_id }}
                time={{}}
              />
              <ExpensiveTurns costs={data} />
            </div>
          )}
          {outline !== undefined && <ContextGrowth outline={outline} />}
          <CacheBreaks sessionId={session.session_id} />
          {data.unfinalised_estimate_usd > 0 && (
            <p className="muted">
              Incomplete output counts: by the length of their content about{' '}
              <Money value={data.unfinalised_estimate_usd} /> more, not included.
            </p>
          )}
        </div>
      )}
    </Answered>
  );
}

function Parts({ costs, total }: { costs: SessionCosts; total: number | null }): ReactNode {
  const isOther = Math.abs(costs.other_cost_usd) > 1e-9;
  return (
    <PlainTable
      className=""
      figureClass="figure"
      caption="Cost by token class and model, at list prices"
      rows={costs.parts}
      toKey={(part) => `${part.model} ${toPartName(part)}`}
      columns={[
        { head: 'Tokens of', cell: toPartName },
        {
          head: 'Model',
          title: ({ model }) => model ?? '',
          cell: ({ model }) => (model === null ? 'no model' : toVisible(toShortModel(model))),
        },
        { head: 'Tokens', isFigure: true, cell: ({ tokens }) => <Tokens value={tokens} /> },
        { head: '$ / million', isFigure: true, cell: toRate },
        {
          head: 'Cost',
          isFigure: true,
          cell: (part) => (part.lowest_rate_usd === null ? 'unpriced' : <Money value={part.cost_usd} />),
        },
        { head: 'Share', isFigure: true, cell: ({ cost_usd }) => toShare(cost_usd, total) },
      ]}
    >
      {isOther && (
        <tr>
          <td colSpan={4}>Searches, and what the agent reports</td>
          <td className="figure">
            <Money value={costs.other_cost_usd} />
          </td>
          <td className="figure">{toShare(costs.other_cost_usd, total)}</td>
        </tr>
      )}
    </PlainTable>
  );
}

const ExpensiveTurns = ({ costs }: { costs: SessionCosts }): ReactNode => (
  <PlainTable
    className=""
    figureClass="figure"
    caption="Most expensive turns"
    rows={costs.most_expensive}
    toKey={({ line_number }) => line_number}
    columns={[
      {
        head: 'Turn',
        cell: ({ line_number, message_id, timestamp, is_own }) => (
          <>
            <MessageLink id={message_id}>
              line {line_number.toLocaleString()}, <Time iso={timestamp} />
            </MessageLink>
            {!is_own && <span className="tag">shared</span>}
          </>
        ),
      },
      { head: 'Read', isFigure: true, cell: (turn) => <Tokens value={turn.cache_read + turn.tokens_in} /> },
      { head: 'Cache write', isFigure: true, cell: ({ cache_write }) => <Tokens value={cache_write} /> },
      { head: 'Output', isFigure: true, cell: ({ tokens_out }) => <Tokens value={tokens_out} /> },
      { head: 'Cost', isFigure: true, cell: ({ cost_usd }) => <Money value={cost_usd} /> },
    ]}
  />
);

/** Leads to a message on this page, if it has rows. */
const MessageLink = ({ id, children }: { id: string | null; children: ReactNode }): ReactNode =>
  id === null ? (
    children
  ) : (
    <Link to="." search={((search: object) => ({ ...search, message: id })) as never}>
      {children}
    </Link>
  );

/** Context of the first, the largest and the last response of the main conversation and its sub-agents' lines. */
function ContextGrowth({ outline }: { outline: Outline }): ReactNode {
  const sizes = outline.turns.flatMap(({ kind, context_tokens }) =>
    kind === 'answer' && context_tokens !== null && context_tokens > 0 ? [context_tokens] : [],
  );
  const [first, last] = [sizes[0], sizes.at(-1)];
  if (first === undefined || last === undefined || sizes.length < 2) return null;
  const largest = sizes.reduce((most, size) => Math.max(most, size));
  return (
    <p>
      Context: <Tokens value={first} /> tokens at the first response, <Tokens value={largest} /> at most,{' '}
      <Tokens value={last} /> at the last
      {outline.is_cut ? ' of those shown' : ''}.
    </p>
  );
}

function CacheBreaks({ sessionId }: { sessionId: string }): ReactNode {
  const ofBreaks = { kind: 'cold-cache', subagents: 'include', dismissed: 'include' } as const;
  const query = { ...ofBreaks, session_id: sessionId, limit: MAX_BREAKS };
  const breaks = useAnswer('/v1/analytics/findings', query);
  const figures = breaks.data?.kinds.find(({ kind }) => kind === 'cold-cache');
  if (breaks.data === undefined || figures === undefined || breaks.data.totals.findings === 0) return null;
  const costs = [figures.cost_usd, figures.dismissed_cost_usd].filter((cost) => cost !== null);
  return (
    <div>
      <p>
        The cache had expired <Count value={breaks.data.totals.findings} /> times, which cost{' '}
        <Money value={costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0)} />:
      </p>
      <ul>
        {breaks.data.rows.map(({ message_id, timestamp, pause_ms, cost_usd }) => (
          <li key={`${message_id} ${timestamp}`}>
            <MessageLink id={message_id}>
              <Time iso={timestamp} />
            </MessageLink>
            {pause_ms !== null && (
              <>
                , after <Duration ms={pause_ms} />
              </>
            )}
            : <Money value={cost_usd} />
          </li>
        ))}
      </ul>
    </div>
  );
}
