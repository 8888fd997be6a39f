import type { FindingKind, FindingsReport } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { formatCount, formatCounted, formatMoney, toShortModel, toShortPath } from '../../format/values.ts';
import { type ExportColumn, ExportMenu, toTextColumn } from '../../parts/export-menu.tsx';
import { TrustLine } from '../../parts/trust-line.tsx';
import type { ViewQuery } from '../../parts/use-view.ts';
import { MeantNames } from '../../parts/view-bar.tsx';
import { useAnswer } from '../../server-data/use-answer.ts';
import { useIsAdmin } from '../../server-data/use-shows.ts';
import { type Column, DataTable } from '../../ui/data-table.tsx';
import { Count, Duration, Money, Time, Tokens } from '../../ui/figures.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import type { UrlChange, UrlState } from '../../ui/use-url-state.ts';
import { Addressed } from './addressed.tsx';
import { DismissalList, DismissButton, DismissedLine } from './dismissals.tsx';
import { type Figure, KINDS, SESSION_KINDS, WASTE_KINDS } from './finding-kinds.ts';

type Search = Record<string, string>;
type Finding = FindingsReport['rows'][number];
type KindFigures = FindingsReport['kinds'][number];
const ORDER = [...WASTE_KINDS, ...SESSION_KINDS];
const SHOWN_ROWS = 200;

/** The kinds of findings, and the findings of the selected kind. Each links to its message. */
export function Findings({
  filter,
  time,
  state,
  change,
}: {
  filter: ViewQuery;
  /** As parameters of a URL. */
  time: Search;
  state: UrlState;
  change: (change: UrlChange) => void;
}): ReactNode {
  const summary = useAnswer('/v1/analytics/findings', { ...filter, limit: 1 });
  return (
    <section aria-labelledby="findings" className="findings">
      <h2 id="findings">Findings</h2>
      <p className="muted">Choose a kind to see each finding. Kinds can overlap, so they don’t add up.</p>
      <Answered of={summary}>
        {({ kinds, caveats, filters }) => {
          const figuresOf = (kind: FindingKind): KindFigures | undefined => kinds.find((each) => each.kind === kind);
          const chosen = ORDER.find((kind) => kind === state.kind);
          const shown = chosen ?? ORDER.find((kind) => (figuresOf(kind)?.findings ?? 0) > 0) ?? 'cold-cache';
          return (
            <>
              <MeantNames filters={filters} />
              {[
                { label: 'Potential waste', of: WASTE_KINDS },
                { label: 'Sessions worth a look, which are no waste', of: SESSION_KINDS },
              ].map(({ label, of }) => (
                <div key={label}>
                  <h3>{label}</h3>
                  <div className="finding-kinds" role="group" aria-label={label}>
                    {of.map((kind) => (
                      <KindCard
                        key={kind}
                        kind={kind}
                        figures={figuresOf(kind)}
                        isShown={kind === shown}
                        show={() => change({ kind })}
                      />
                    ))}
                  </div>
                </div>
              ))}
              <TrustLine caveats={caveats} cost={null} query={filter} />
              <FindingTable
                kind={shown}
                figuresOf={figuresOf}
                filter={filter}
                time={time}
                isDismissedShown={state.dismissed === 'only'}
                showDismissed={(isShown) => change({ dismissed: isShown ? 'only' : undefined })}
              />
              <DismissalList />
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
  const { findings = 0, sessions = 0, cost_usd = null, estimated_tokens = 0, dismissed_findings = 0 } = figures ?? {};
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
          : `${hasCost ? '' : '≈ tokens, '}${formatCounted(findings, 'time')} in ${formatCounted(sessions, 'session')}`}
        {dismissed_findings > 0 && `${isNone ? '' : ' · '}${formatCount(dismissed_findings)} dismissed`}
      </span>
    </button>
  );
}

// With these widths, all columns fit beside the menu of a window of 1024 pixels.
const figure = (id: Figure, label: string, width: string, cell: Column<Finding>['cell']): Column<Finding> => ({
  id,
  label,
  width,
  isFigure: true,
  cell,
});

const FIGURES: readonly Column<Finding>[] = [
  figure('times', 'Times', '72px', ({ times }) => <Count value={times} />),
  figure('pause', 'Pause', '84px', ({ pause_ms }) => <Duration ms={pause_ms} />),
  figure('tokens', 'Tokens', '84px', ({ tokens }) => <Tokens value={tokens} />),
  figure('estimated', 'Tokens (est.)', '104px', ({ estimated_tokens }) => <Tokens value={estimated_tokens} />),
  figure('cost', 'Cost', '92px', ({ cost_usd }) => <Money value={cost_usd} />),
];

const SESSION: Column<Finding> = {
  id: 'session',
  label: 'Session',
  width: 'minmax(130px, 2fr)',
  cell: (finding) => (
    <Link
      to="/sessions/$sessionId"
      params={{ sessionId: finding.session_id } as never}
      search={toPlace(finding) as never}
      title={finding.title ?? finding.session_id}
    >
      {toVisible(finding.title ?? finding.session_id)}
    </Link>
  ),
};

const toAbout = (label: string): Column<Finding> => ({
  id: 'about',
  label,
  width: 'minmax(100px, 1.2fr)',
  cell: (finding) => (
    <span title={[finding.tool, finding.subject].filter(Boolean).join(' ')}>{toSubject(finding)}</span>
  ),
});

const TIME: Column<Finding> = {
  id: 'time',
  label: 'Time',
  width: '168px',
  cell: ({ timestamp }) => <Time iso={timestamp} />,
};

const DISMISS: Column<Finding> = {
  id: 'dismiss',
  label: 'Dismiss',
  width: '100px',
  cell: (finding) => <DismissButton finding={finding} />,
};

const toPlace = ({ message_id }: Finding): Record<string, string> =>
  message_id === null ? {} : { message: message_id };

function toSubject({ kind, tool, subject }: Finding): string {
  if (kind === 'cold-cache') return toShortModel(subject);
  if (tool === null) return '–';
  return subject === null ? toVisible(tool) : `${toVisible(tool)} ${toShortPath(subject)}`;
}

const FILE_COLUMNS: readonly ExportColumn[] = [
  ...['kind', 'tool', 'subject', 'session_id', 'title', 'project', 'timestamp', 'message_id'].map((name) =>
    toTextColumn(name, name),
  ),
  ...['repository', 'person'].map((name) => toTextColumn(name, name)),
  ...(['line_number', 'times', 'pause_ms', 'tokens', 'estimated_tokens', 'cost_usd'] as const).map(
    (name): ExportColumn => ({ label: name, read: (row) => (row as Finding)[name] }),
  ),
];

interface FindingTableProps {
  kind: FindingKind;
  figuresOf: (kind: FindingKind) => KindFigures | undefined;
  filter: ViewQuery;
  time: Search;
  isDismissedShown: boolean;
  showDismissed: (isShown: boolean) => void;
}

/** While findings of another kind are loading, those before stay. */
function FindingTable({
  kind: chosen,
  figuresOf,
  filter,
  time,
  isDismissedShown,
  showDismissed,
}: FindingTableProps): ReactNode {
  const dismissed = isDismissedShown ? ('only' as const) : undefined;
  const report = useAnswer('/v1/analytics/findings', { ...filter, kind: chosen, dismissed, limit: SHOWN_ROWS });
  const kind = (report.isPlaceholderData && report.data?.rows[0]?.kind) || chosen;
  // “None” would be said of the chosen kind.
  const isEmptyBefore = report.isPlaceholderData && report.data?.rows.length === 0;
  const { label, explanation, advice, about, figures } = KINDS[kind];
  const mayChange = useIsAdmin();
  const size = figures.at(-1);
  // The size is beside the name, because narrow windows show only the first columns.
  const columns = [
    SESSION,
    ...FIGURES.filter(({ id }) => id === size),
    ...(about === undefined ? [] : [toAbout(about)]),
    TIME,
    ...FIGURES.filter(({ id }) => id !== size && figures.includes(id as Figure)),
    ...(mayChange && !isDismissedShown ? [DISMISS] : []),
  ];
  return (
    <>
      <p>
        {explanation} <span className="muted">{advice}</span>
      </p>
      <Addressed key={kind} kind={kind} filter={filter} mayChange={mayChange} />
      <DismissedLine figures={figuresOf(kind)} kind={kind} isShown={isDismissedShown} show={showDismissed} />
      <Answered of={isEmptyBefore ? { ...report, data: undefined } : report}>
        {({ rows, truncated, filters }) =>
          rows.length === 0 ? (
            <Empty title={isDismissedShown ? 'None dismissed in this period' : 'None in this period'}>
              <p>Choose a longer period, or another category above.</p>
            </Empty>
          ) : (
            <>
              <div className="between">
                <h3>{label}</h3>
                <ExportMenu title={label} columns={FILE_COLUMNS} rows={rows} filters={filters} time={time} />
              </div>
              <DataTable
                key={kind}
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
