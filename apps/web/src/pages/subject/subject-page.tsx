import '../breakdowns/breakdowns.css';
import './subject.css';
import { toVisible } from '@recount/contract/conversation';
import { countDays } from '@recount/contract/periods';
import { Link, useLocation } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense } from 'react';
import { readFilters, SUBJECTS, toSubjectPath, toValueLabel, toValues } from '../../format/dimensions.ts';
import { formatCount } from '../../format/values.ts';
import type { SharedPart } from '../../parts/share-view.tsx';
import { Trend } from '../../parts/trend.tsx';
import { TrustLine } from '../../parts/trust-line.tsx';
import { useView } from '../../parts/use-view.ts';
import { MeantNames, ViewBar } from '../../parts/view-bar.tsx';
import { useAnswer } from '../../server-data/use-answer.ts';
import { type Step, toDefaultStep } from '../../ui/chart/step.ts';
import { ReportFigure, type Row, readFigure } from '../../ui/report-figure.tsx';
import { Answered, Empty, Loading, Pending } from '../../ui/states.tsx';
import { usePageTitle } from '../../ui/use-page-title.ts';
import { PartPanel } from './part-panel.tsx';
import {
  chooseMatrix,
  isOfCalls,
  listOthers,
  measureOf,
  type Place,
  pickGroups,
  type Subject,
  toPart,
  toSessions,
  toTool,
} from './subject.ts';

/** Loaded while the report is being read. */
const Matrix = lazy(async () => ({ default: (await import('./matrix.tsx')).Matrix }));
const SessionRows = lazy(async () => ({ default: (await import('./session-rows.tsx')).SessionRows }));
const RenameButton = lazy(async () => ({ default: (await import('./rename-button.tsx')).RenameButton }));
const Plans = lazy(async () => ({ default: (await import('../../parts/plans.tsx')).Plans }));
const Waste = lazy(async () => ({ default: (await import('./waste.tsx')).Waste }));

const MAX_ROWS = 1000;

/** Everything about one repository, folder, agent, person, machine, model or tool. Its value is a filter in the URL. */
export function SubjectPage(): ReactNode {
  const { pathname } = useLocation();
  const subject = SUBJECTS.find((each) => toSubjectPath(each) === pathname);
  if (subject === undefined) return null;
  return <OneSubject key={subject.name} subject={subject} />;
}

function OneSubject({ subject }: { subject: Subject }): ReactNode {
  const view = useView();
  const values = toValues(view.state[subject.name]);
  const title = values.map((value) => toValueLabel(subject, value)).join(', ') || subject.label;
  usePageTitle(title);
  const place = { subject, values, view };
  return (
    <div className="breakdown-page subject-page in-order">
      <div>
        <p className="muted">
          <Link
            to={`/${subject.page}` as never}
            search={{ ...view.time, [subject.name]: undefined, view: subject.view } as never}
          >
            {subject.plural}
          </Link>
        </p>
        <div className="row">
          <h1 title={values.join(', ')}>{title}</h1>
          <Suspense fallback={<Pending />}>
            {subject.name === 'repository' && values.length === 1 && <RenameButton name={values[0] ?? ''} />}
          </Suspense>
        </div>
      </div>
      <ViewBar {...view} />
      {values.length === 0 ? (
        <Empty title={`No ${subject.label.toLowerCase()} is chosen`}>
          <p>Choose one from the list.</p>
        </Empty>
      ) : view.isKnown ? (
        <Answer place={place} />
      ) : (
        <Loading />
      )}
    </div>
  );
}

/** One request for the total, its course, its parts, their matrix and its sessions: all are of one snapshot. */
function useReport({ subject, values, view: { query } }: Place, step: Step) {
  const breakdown = [
    ...listOthers(subject).map(({ name }) => name),
    chooseMatrix(subject)
      .map(({ name }) => name)
      .join(),
    'session',
  ];
  return useAnswer(subject.route, {
    ...{ ...query, group_by: step, breakdown, limit: MAX_ROWS },
    ...(isOfCalls(subject) && { tool: values[0] }),
  });
}

function Answer({ place }: { place: Place }): ReactNode {
  const { from, to } = place.view.query;
  const step = toDefaultStep(
    from === undefined || to === undefined ? Number.POSITIVE_INFINITY : countDays({ from, to }),
  );
  const report = useReport(place, step);
  return (
    <Answered of={report}>
      {(answer) =>
        answer.rows.length === 0 ? (
          <NoActivity place={place} filters={answer.filters} />
        ) : (
          <Activity place={place} answer={answer} step={step} />
        )
      }
    </Answered>
  );
}

type ReportAnswer = NonNullable<ReturnType<typeof useReport>['data']>;

function NoActivity({ place: { view }, filters }: { place: Place; filters: ReportAnswer['filters'] }): ReactNode {
  return (
    <Empty title="No activity in this period">
      <MeantNames filters={filters} />
      {view.query.from !== undefined && (
        <button type="button" onClick={() => view.change({ period: 'all', from: undefined, to: undefined })}>
          Show all time
        </button>
      )}
    </Empty>
  );
}

/** The total, its course, and what it is made of. */
function Activity({ place, answer, step }: { place: Place; answer: ReportAnswer; step: Step }): ReactNode {
  const { subject, values, view } = place;
  const { query, time, change } = view;
  const { main } = measureOf(subject);
  const { rows, caveats, filters } = answer;
  const totals: Row = answer.totals;
  const total = readFigure(totals, main);
  const asked = { filters, time, part: { kind: 'subject', subject: subject.name } as SharedPart };
  const meant = filters[subject.name as 'person'];
  return (
    <>
      <MeantNames filters={filters} />
      {meant != null && meant.length > values.length && <Meant names={meant} />}
      <Totals place={place} totals={totals} />
      {!isOfCalls(subject) && <TrustLine caveats={caveats} cost={total} query={query} time={time} />}
      <Suspense fallback={<Pending />}>
        {subject.name === 'person' && <Plans filters={readFilters(view.state)} />}
      </Suspense>
      <section className="panel" aria-label="Trend">
        <Trend
          rows={rows as readonly Row[]}
          step={step}
          figure={main}
          asked={asked}
          period={query}
          open={(first, last) => change({ from: first, to: last, period: undefined })}
        />
      </section>
      <Suspense fallback={<Pending />}>
        <Matrix place={place} answer={answer} dimensions={chooseMatrix(subject)} figure={main} asked={asked} />
      </Suspense>
      <div className="parts together">
        {listOthers(subject).map((dimension) => (
          <PartPanel
            key={dimension.name}
            title={SUBJECTS.find(({ name }) => name === dimension.name)?.plural ?? dimension.label}
            of={dimension}
            {...pickGroups(answer, dimension.name)}
            figure={main}
            total={total}
            asked={asked}
            toTarget={(value) => toPart(place, { [dimension.name]: value })}
          />
        ))}
        {!isOfCalls(subject) && <Tools place={place} />}
        <Suspense fallback={<Pending />}>{!isOfCalls(subject) && <Waste view={view} />}</Suspense>
      </div>
      <Suspense fallback={<Pending />}>
        <SessionRows place={place} {...pickGroups(answer, 'session')} totals={totals} asked={asked} />
      </Suspense>
    </>
  );
}

function Totals({ place, totals }: { place: Place; totals: Row }): ReactNode {
  return (
    <dl className="totals">
      {measureOf(place.subject).figures.map((figure) => (
        <div key={figure.label}>
          <dt title={figure.hint}>{figure.label}</dt>
          <dd>
            <Link {...toSessions(place)} title="Sessions in this time range">
              <ReportFigure of={figure} row={totals} />
            </Link>
          </dd>
        </div>
      ))}
    </dl>
  );
}

const SHOWN_NAMES = 12;

/** The names that a part of a name means. */
function Meant({ names }: { names: readonly string[] }): ReactNode {
  const more = names.length - SHOWN_NAMES;
  return (
    <p className="muted">
      All of {names.slice(0, SHOWN_NAMES).map(toVisible).join(', ')}
      {more > 0 && ` and ${formatCount(more)} more`}
    </p>
  );
}

/** Tools of the calls that pass the page's filters. */
function Tools({ place }: { place: Place }): ReactNode {
  const tools = SUBJECTS.find(isOfCalls);
  const report = useAnswer('/v1/analytics/tools', {
    ...place.view.query,
    ...{ group_by: 'tool', percentiles: 'false', limit: MAX_ROWS },
  });
  if (tools === undefined) return null;
  return (
    <Answered of={report}>
      {({ rows, totals, truncated, filters }) => (
        <PartPanel
          title={tools.plural}
          of={tools}
          rows={rows as readonly Row[]}
          truncated={truncated}
          figure={measureOf(tools).main}
          total={totals.calls}
          asked={{ filters, time: place.view.time }}
          toTarget={(tool) => toTool(place, tool)}
        />
      )}
    </Answered>
  );
}
