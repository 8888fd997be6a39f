import type { FindingKind, ReportName, SharedView } from '@recount/contract';
import { REPORT_SCHEMAS } from '@recount/contract';
import { PERSON_FIELDS } from '@recount/contract/access';
import { FINDING_LABELS } from '@recount/contract/choices';
import { addDays, countDays, PERIODS, readNamedPeriod } from '@recount/contract/periods';
import { describeCaveats } from '@recount/contract/reports/caveats';
import {
  callFigures,
  durationFigures,
  figure,
  resultFigures,
  usageFigures,
} from '@recount/contract/reports/page-figures';
import { REPORT_SUBJECTS } from '@recount/contract/reports/report-dimensions';
import { REPORT_PAGES } from '@recount/contract/reports/report-pages';
import { type Database, readViewPolicy } from '@recount/db';
import { findHiddenNames } from '../access/hidden-names.ts';
import { type Mask, maskAnswer } from '../access/mask-answer.ts';
import { type FiguresDocument, type FiguresTable, formatValue } from '../documents/index.ts';
import { answerReport, type ReportDeps, type ReportQuery } from './analytics.ts';

type Row = Readonly<Record<string, unknown>>;
type Page = (typeof REPORT_PAGES)[number];

/** The part of an answer that every report has. */
interface Answer {
  rows: readonly Row[];
  totals: Row;
  truncated: boolean;
  kinds?: readonly Row[];
  breakdowns?: readonly { group_by: readonly string[]; rows: readonly Row[]; truncated: boolean }[] | undefined;
}

type Frame = Pick<Awaited<ReturnType<typeof answerReport<'usage'>>>, 'caveats' | 'currency_label' | 'filters'>;

/** A report with its parameters as a client writes them. */
interface Request {
  name: ReportName;
  query: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Rows of a table, as the dashboard has them. */
const MAX_ROWS = '1000';
const WASTE_PARTS: readonly string[] = ['person', 'repository'];
const WASTE_FIGURES = [
  figure('money', 'Potential waste', 'waste_usd'),
  figure('money', 'Cost', 'cost_usd'),
  figure('percent', 'Of cost', 'waste_share'),
  figure('count', 'Findings', 'findings'),
] as const;
/** An expensive session has its whole cost, and output that is too large has none. */
const KIND_FIGURES = [
  figure('count', 'Findings', 'findings'),
  figure('count', 'Sessions', 'sessions'),
  figure('amount', 'Cost', 'cost_usd'),
];
const MAX_WEEKLY_DAYS = 366;
const MAX_DAILY_DAYS = 92;

/**
 * The figures of a view as they are now, by the same statements as the routes of reports. Anyone with the link reads
 * them, so where the workspace hides names of people, the page has pseudonyms.
 */
export async function readSharedView(
  deps: ReportDeps,
  snapshot: Database,
  workspaceId: string,
  view: SharedView,
): Promise<FiguresDocument> {
  const nowMs = (deps.now ?? Date.now)();
  const time = readTime(view, nowMs);
  const policy = await readViewPolicy(snapshot, workspaceId);
  const hidden = policy && (await findHiddenNames(snapshot, { workspaceId, policy }));
  const rename = hidden?.rename;
  const reader = { workspaceId, onlyNames: null, hiddenOrder: hidden?.hiddenOrder ?? null };
  const { filters, names } = readFilters(view, rename);
  const read = async ({ name, query }: Request): Promise<Answer & Frame> => {
    const written = { ...query, ...filters, ...time, time_zone: view.time_zone };
    const parsed = REPORT_SCHEMAS[name].query.parse(definedOf(written)) as ReportQuery;
    const answer = await answerReport(deps, snapshot, name, reader, parsed);
    return maskAnswer(answer, { keepsTexts: () => true, rename }) as Answer & Frame;
  };
  const content = await readContent(read, view, time);
  const { caveats, currency_label: currencyLabel, ...parts } = content;
  const formats = {
    count: (value: number) => formatValue('count', value, currencyLabel),
    tokens: (value: number) => formatValue('tokens', value, currencyLabel),
    money: (value: number) => formatValue('money', value, currencyLabel),
  };
  const remarks = describeCaveats(caveats, formats, nowMs).map(({ text, names: unpriced }) =>
    [text, unpriced.map(({ name }) => name).join(', ')].filter(Boolean).join(' '),
  );
  return {
    ...parts,
    title: view.title,
    facts: [
      toTimeText(view, time),
      ...names,
      `Figures of ${toMoment(nowMs, view.time_zone)}. Cost is an estimate at list prices, or at the workspace’s own.`,
    ],
    remarks,
    currencyLabel,
  };
}

type Read = (request: Request) => Promise<Answer & Frame>;
type Content = Pick<FiguresDocument, 'figures' | 'totals' | 'trend' | 'tables'> &
  Pick<Frame, 'caveats' | 'currency_label'>;

function readContent(read: Read, view: SharedView, time: Time): Promise<Content> {
  if (view.kind === 'insights') return readWaste(read, time);
  const page = view.table === undefined ? undefined : findPage(view.table);
  return page === undefined ? readParts(read, view, time) : readTable(read, page, time);
}

/** Potential waste with its course, its kinds, and whose it is, as on Insights. */
async function readWaste(read: Read, time: Time): Promise<Content> {
  const step = toStep(time);
  const parts = REPORT_SUBJECTS.filter(({ name }) => WASTE_PARTS.includes(name));
  const query = { group_by: step, breakdown: parts.map(({ name }) => name), limit: MAX_ROWS };
  const waste = await read({ name: 'waste', query });
  const { kinds } = await read({ name: 'findings', query: { limit: '1' } });
  const { caveats, currency_label, totals } = waste;
  const rows = step === 'day' ? fillDays(waste.rows, time) : waste.rows;
  const trend = {
    title: `Potential waste by ${step}`,
    figure: WASTE_FIGURES[0],
    rows,
    readName: (row: Row) => toName(row, step) ?? '',
  };
  const tables = parts.map(({ name, label, plural }): FiguresTable => {
    const found = waste.breakdowns?.find(({ group_by }) => group_by.join() === name);
    return {
      ...{ title: `Potential waste: ${plural.toLowerCase()}`, noun: label, figures: WASTE_FIGURES },
      rows: (found?.rows ?? []).filter(({ findings }) => findings !== 0),
      isTruncated: found?.truncated ?? false,
      readName: (row) => toName(row, name),
    };
  });
  const ofKinds: FiguresTable = {
    ...{
      title: 'Findings, which can overlap',
      noun: 'Kind',
      figures: KIND_FIGURES,
      rows: kinds ?? [],
      isTruncated: false,
    },
    readName: ({ kind }) => FINDING_LABELS[kind as FindingKind],
  };
  return { caveats, currency_label, figures: WASTE_FIGURES, totals, trend, tables: [ofKinds, ...tables] };
}

async function readTable(read: Read, page: Page, time: Time): Promise<Content> {
  const name = page.route.slice('/v1/analytics/'.length) as ReportName;
  const { rows, totals, truncated, caveats, currency_label } = await read({
    name,
    query: { ...page.query, limit: MAX_ROWS },
  });
  const { trend } = page;
  const daily = trend && (await read({ name, query: { ...trend.query, limit: MAX_ROWS } }));
  return {
    ...{ caveats, currency_label, figures: page.figures, totals },
    trend: trend && {
      title: `${trend.figure.label} by day`,
      figure: trend.figure,
      rows: fillDays(daily?.rows ?? [], time),
      readName: (row) => toName(row, 'day') ?? '',
    },
    tables: [
      {
        ...{ title: page.label, noun: page.noun, figures: page.figures, rows, isTruncated: truncated },
        readName: (row) => toName(row, page.name, page.detail),
      },
    ],
  };
}

type Step = 'day' | 'week' | 'month';

/** Totals with their course and their parts: of everything, or of one subject. */
async function readParts(read: Read, { subject }: SharedView, time: Time): Promise<Content> {
  const step = toStep(time);
  const isOfCalls = subject === 'tool';
  // Calls have no kinds of work.
  const left = [subject, 'tool', ...(isOfCalls ? ['kind_of_work'] : [])];
  const parts = REPORT_SUBJECTS.filter(({ name }) => !left.includes(name));
  const breakdown = parts.map(({ name }) => name);
  const query = { group_by: step, breakdown, limit: MAX_ROWS };
  const answer = await read({ name: isOfCalls ? 'tools' : 'usage', query });
  const figures = isOfCalls ? [...callFigures, ...durationFigures, ...resultFigures] : usageFigures('own.');
  const main = isOfCalls ? figure('count', 'Calls', 'calls') : figure('money', 'Cost', 'own.cost_usd');
  const tables = parts.map(({ name, label, plural }): FiguresTable => {
    const found = answer.breakdowns?.find(({ group_by }) => group_by.join() === name);
    return {
      ...{ title: plural, noun: label, figures, rows: found?.rows ?? [], isTruncated: found?.truncated ?? false },
      readName: (row) => toName(row, name),
    };
  });
  const { caveats, currency_label, totals } = answer;
  const rows = step === 'day' ? fillDays(answer.rows, time) : answer.rows;
  const trend = {
    title: `${main.label} by ${step}`,
    figure: main,
    rows,
    readName: (row: Row) => toName(row, step) ?? '',
  };
  return { caveats, currency_label, figures, totals, trend, tables };
}

const findPage = (table: string): Page | undefined => REPORT_PAGES.find(({ page, id }) => `${page}/${id}` === table);

interface Time {
  from?: string | undefined;
  to?: string | undefined;
}

function readTime({ period, from, to, time_zone: timeZone }: SharedView, nowMs: number): Time {
  if (period === undefined) return { from, to };
  const named = PERIODS.find(({ id }) => id === period);
  return readNamedPeriod(named, new Intl.DateTimeFormat('en-CA', { timeZone }).format(nowMs));
}

function toStep({ from, to }: Time): Step {
  if (from === undefined || to === undefined) return 'month';
  const days = countDays({ from, to });
  if (days <= MAX_DAILY_DAYS) return 'day';
  return days <= MAX_WEEKLY_DAYS ? 'week' : 'month';
}

function toTimeText({ period, time_zone: timeZone }: SharedView, { from, to }: Time): string {
  const label = PERIODS.find(({ id }) => id === period)?.label;
  const range =
    from === undefined && to === undefined ? undefined : `${from ?? 'the beginning'} until before ${to ?? 'now'}`;
  return `${[label ?? (range === undefined ? 'All time' : undefined), range].filter(Boolean).join(': ')}, in ${timeZone}`;
}

/** The filters as parameters, and in words: every field of a view that says neither what it is nor its time. */
function readFilters(
  view: SharedView,
  rename: Mask['rename'],
): { filters: Record<string, string | string[]>; names: string[] } {
  const { title: _title, kind: _kind, table: _table, subject: _subject, ...rest } = view;
  const { period: _period, from: _from, to: _to, time_zone: _zone, ...filters } = rest;
  const set = Object.entries(definedOf(filters));
  const names = set.map(([name, value]) => {
    const label = REPORT_SUBJECTS.find((subject) => subject.name === name)?.label;
    const field = PERSON_FIELDS.get(name);
    const typed = [value].flat();
    const shown =
      field === undefined || rename === undefined ? typed : typed.map((each) => rename(field, each)).toSorted();
    return `${label ?? name}: ${shown.join(', ')}`;
  });
  return { filters: definedOf(filters), names };
}

function toName(row: Row, field: string, detail?: string): string | null {
  const name = row[field];
  if (typeof name !== 'string') return null;
  const more = detail === undefined ? undefined : row[detail];
  return typeof more === 'string' ? `${name} ${more}` : name;
}

function toMoment(nowMs: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' });
  return `${format.format(nowMs)} ${timeZone}`;
}

const definedOf = <Value>(query: Readonly<Record<string, Value | undefined>>): Record<string, Value> =>
  Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  );

/** Rows of a course, also for days without use, so that a gap looks like one. */
function fillDays(rows: readonly Row[], { from, to }: Time): readonly Row[] {
  const days = rows.flatMap(({ day }) => (typeof day === 'string' ? [day] : []));
  const first = from?.slice(0, 10) ?? days[0];
  const last = days.at(-1);
  if (first === undefined || last === undefined) return rows;
  const end = to === undefined || to.slice(0, 10) > addDays(last, 1) ? addDays(last, 1) : to.slice(0, 10);
  const count = countDays({ from: first, to: end });
  if (!(count > 0) || count > MAX_FILLED_DAYS) return rows;
  const byDay = new Map(rows.map((row) => [row.day, row]));
  return Array.from({ length: count }, (_, index) => {
    const day = addDays(first, index);
    return byDay.get(day) ?? { day };
  });
}

/** More bars would be thinner than a pixel. */
const MAX_FILLED_DAYS = 1000;
