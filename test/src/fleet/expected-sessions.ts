import { isUnpriced, type Report, toKnownUnits, toTokens, toUsdOrNull, UNITS_PER_USD } from './expected-usage.ts';
import type { FleetFacts, ResponseFact, SessionFact } from './facts.ts';
import { countDistinct, groupItems, type Item, type Question, sum, toPercentile } from './question.ts';

const IDLE_MS = 5 * 60_000;

const toCost = ({ responses }: SessionFact): number | null => toKnownUnits(responses);
const listCosts = (sessions: readonly SessionFact[]): number[] => sessions.flatMap((session) => toCost(session) ?? []);
/** Null if there are some but none has a value. */
const sumKnown = (all: readonly unknown[], known: readonly number[]): number | null =>
  all.length > 0 && known.length === 0 ? null : sum(known, (units) => units);
const toSessionTokens = ({ responses }: SessionFact): number => sum(responses, toTokens);
const toDuration = ({ firstMs, lastMs }: SessionFact): number => lastMs - firstMs;

function toActiveMs({ messages }: SessionFact, idleMs: number): number {
  const times = messages.map(({ atMs }) => atMs).sort((a, b) => a - b);
  return sum(times.keys(), (index) => {
    const gap = index === 0 ? 0 : (times[index] ?? 0) - (times[index - 1] ?? 0);
    return gap <= idleMs ? gap : 0;
  });
}

const listSessions = ({ sessions }: FleetFacts): Item[] =>
  sessions.map((session) => ({
    atMs: session.firstMs,
    session,
    isSubagent: session.parentId !== null,
    branch: session.branch,
    version: session.version,
  }));

/** A response that only another version of the session holds is still credited to it. */
const listCredited = ({ responses }: FleetFacts, sessions: readonly SessionFact[]): ResponseFact[] =>
  responses.filter(({ sessionId }) => sessions.some(({ id }) => id === sessionId));

export function expectSessions(facts: FleetFacts, question: Question, idleMs = IDLE_MS): Report {
  const toRow = (sessions: readonly SessionFact[]): object => ({
    sessions: sessions.length,
    prompts: sum(sessions, ({ promptCount }) => promptCount),
    turns: sum(sessions, ({ turnCount }) => turnCount),
    messages: sum(sessions, ({ messages }) => messages.length),
    tool_uses: sum(sessions, ({ toolUseCount }) => toolUseCount),
    duration_ms: sum(sessions, toDuration),
    active_ms: sum(sessions, (session) => toActiveMs(session, idleMs)),
    cost_usd: toUsdOrNull(sumKnown(sessions, listCosts(sessions))),
    unpriced_responses: sum(sessions, ({ responses }) => responses.filter(isUnpriced).length),
    unpriced_sessions: sessions.filter((session) => toCost(session) === null).length,
    own_cost_usd: toUsdOrNull(toKnownUnits(listCredited(facts, sessions))),
    own_unpriced_responses: listCredited(facts, sessions).filter(isUnpriced).length,
    distribution: {
      total_tokens: toDistribution(sessions.map(toSessionTokens)),
      cost_usd: toDistribution(listCosts(sessions), UNITS_PER_USD),
      duration_ms: toDistribution(sessions.map(toDuration)),
      active_ms: toDistribution(sessions.map((session) => toActiveMs(session, idleMs))),
    },
  });
  const toRows = (asked: Question): object[] =>
    [...groupItems(asked, listSessions(facts)).values()].map(({ values, items }) => ({
      ...values,
      ...toRow(items.map(({ session }) => session)),
    }));
  return { rows: toRows(question), totals: toRows({ ...question, groupBy: [] })[0] ?? {} };
}

function toDistribution(values: readonly number[], divisor = 1): object | null {
  const divide = (value: number | null): number | null => (value === null ? null : value / divisor);
  if (values.length === 0) return null;
  return {
    p50: divide(toPercentile(values, 0.5)),
    p90: divide(toPercentile(values, 0.9)),
    p99: divide(toPercentile(values, 0.99)),
    max: Math.max(...values) / divisor,
    mean: sum(values, (value) => value) / values.length / divisor,
  };
}

export function expectMostExpensive({ sessions }: FleetFacts, top: number): object[] {
  return sessions
    .filter(({ parentId }) => parentId === null)
    .sort((a, b) => (toCost(b) ?? -1) - (toCost(a) ?? -1) || (a.id < b.id ? -1 : 1))
    .slice(0, top)
    .map((session) => ({
      session_id: session.id,
      project: session.project,
      git_branch: session.branch,
      is_subagent: false,
      first_timestamp: new Date(session.firstMs).toISOString(),
      duration_ms: toDuration(session),
      active_ms: toActiveMs(session, IDLE_MS),
      prompts: session.promptCount,
      total_tokens: toSessionTokens(session),
      cost_usd: toUsdOrNull(toCost(session)),
      unpriced_responses: session.responses.filter(isUnpriced).length,
    }));
}

export function expectReconciliation({ sessions }: FleetFacts): Report {
  const toRow = (reported: readonly SessionFact[]): object => {
    const children = sessions.filter(({ parentId }) => reported.some(({ id }) => id === parentId));
    const reportedUnits = sum(reported, (session) => session.reportedUnits ?? 0);
    const toFamily = (session: SessionFact) => [session, ...children.filter(({ parentId }) => parentId === session.id)];
    const toUnits = (family: readonly SessionFact[]) => toKnownUnits(family.flatMap((session) => session.responses));
    const compared = reported.filter((session) => toUnits(toFamily(session)) !== null);
    const computed = sumKnown(
      reported,
      compared.flatMap((session) => toUnits(toFamily(session)) ?? []),
    );
    const ofChildren = reported.map((session) => toUnits(toFamily(session).slice(1)));
    const comparedUnits = sum(compared, (session) => session.reportedUnits ?? 0);
    const difference = computed === null ? null : computed - comparedUnits;
    const responses = [...reported, ...children].flatMap((session) => session.responses);
    return {
      reported_cost_usd: reportedUnits / UNITS_PER_USD,
      computed_cost_usd: toUsdOrNull(computed),
      subagent_cost_usd: toUsdOrNull(
        sumKnown(
          ofChildren,
          ofChildren.flatMap((units) => units ?? []),
        ),
      ),
      difference_usd: toUsdOrNull(difference),
      difference_ratio: difference === null || comparedUnits === 0 ? null : difference / comparedUnits,
      unfinalised_responses: responses.filter(({ estimatedOutput }) => estimatedOutput !== null).length,
      unpriced_responses: responses.filter(isUnpriced).length,
    };
  };
  const reported = sessions.filter(({ reportedUnits }) => reportedUnits !== null);
  const isClose = (session: SessionFact): boolean => {
    const row = toRow([session]) as Record<'difference_usd' | 'reported_cost_usd', number | null>;
    return row.difference_usd !== null && Math.abs(row.difference_usd) <= 0.01 * (row.reported_cost_usd ?? 0);
  };
  return {
    rows: reported.map((session) => ({
      session_id: session.id,
      project: session.project,
      first_timestamp: new Date(session.firstMs).toISOString(),
      ...toRow([session]),
    })),
    totals: {
      sessions: reported.length,
      sessions_within_one_percent: reported.filter(isClose).length,
      ...toRow(reported),
    },
  };
}

export function expectPullRequests(facts: FleetFacts): Report {
  const links = facts.events.filter(({ kind }) => kind === 'pull_request');
  const toCosts = (sessionIds: ReadonlySet<string>) => {
    const children = facts.sessions.filter(({ parentId }) => parentId !== null && sessionIds.has(parentId));
    const members = new Set([...sessionIds, ...children.map(({ id }) => id)]);
    const responses = facts.responses.filter(({ sessionId }) => members.has(sessionId));
    return {
      responses: responses.length,
      total_tokens: sum(responses, toTokens),
      unpriced_responses: responses.filter(isUnpriced).length,
      units: toKnownUnits(responses),
    };
  };
  const rows = [...Map.groupBy(links, ({ name }) => name)].map(([url, events]) => {
    const { units, ...figures } = toCosts(new Set(events.map(({ sessionId }) => sessionId)));
    const times = events.map(({ atMs }) => atMs);
    return {
      url,
      repository: events[0]?.details.repository,
      number: events[0]?.details.number,
      first_linked: new Date(Math.min(...times)).toISOString(),
      last_linked: new Date(Math.max(...times)).toISOString(),
      sessions: countDistinct(events, ({ sessionId }) => sessionId),
      ...figures,
      cost_usd: toUsdOrNull(units),
    };
  });
  const { units, ...figures } = toCosts(new Set(links.map(({ sessionId }) => sessionId)));
  return {
    rows,
    totals: {
      pull_requests: rows.length,
      mean_cost_usd: Math.round((units ?? 0) / rows.filter((row) => row.cost_usd !== null).length) / UNITS_PER_USD,
      sessions: countDistinct(links, ({ sessionId }) => sessionId),
      ...figures,
      cost_usd: toUsdOrNull(units),
    },
  };
}
