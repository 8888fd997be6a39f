import { type Report, toTokens, UNITS_PER_USD } from './expected-usage.ts';
import { type FleetFacts, type SessionFact, sumUnits } from './facts.ts';
import { countDistinct, groupItems, type Item, type Question, sum, toPercentile } from './question.ts';

const IDLE_MS = 5 * 60_000;

const toCost = ({ responses }: SessionFact): number => sum(responses, ({ costs }) => sumUnits(costs));
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

/** A response that only another version of the session holds is credited to it all the same. */
const toCreditedCost = ({ responses }: FleetFacts, { id }: SessionFact): number =>
  sum(responses, ({ sessionId, costs }) => (sessionId === id ? sumUnits(costs) : 0));

export function expectSessions(facts: FleetFacts, question: Question, idleMs = IDLE_MS): Report {
  const toRow = (sessions: readonly SessionFact[]): object => ({
    sessions: sessions.length,
    prompts: sum(sessions, ({ promptCount }) => promptCount),
    turns: sum(sessions, ({ turnCount }) => turnCount),
    messages: sum(sessions, ({ messages }) => messages.length),
    tool_uses: sum(sessions, ({ toolUseCount }) => toolUseCount),
    duration_ms: sum(sessions, toDuration),
    active_ms: sum(sessions, (session) => toActiveMs(session, idleMs)),
    cost_usd: sum(sessions, toCost) / UNITS_PER_USD,
    own_cost_usd: sum(sessions, (session) => toCreditedCost(facts, session)) / UNITS_PER_USD,
    distribution: {
      total_tokens: toDistribution(sessions.map(toSessionTokens)),
      cost_usd: toDistribution(sessions.map(toCost), UNITS_PER_USD),
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
    .sort((a, b) => toCost(b) - toCost(a) || (a.id < b.id ? -1 : 1))
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
      cost_usd: toCost(session) / UNITS_PER_USD,
    }));
}

export function expectReconciliation({ sessions }: FleetFacts): Report {
  const toRow = (reported: readonly SessionFact[]): object => {
    const children = sessions.filter(({ parentId }) => reported.some(({ id }) => id === parentId));
    const reportedUnits = sum(reported, (session) => session.reportedUnits ?? 0);
    const childUnits = sum(children, toCost);
    const computedUnits = sum(reported, toCost) + childUnits;
    const responses = [...reported, ...children].flatMap((session) => session.responses);
    return {
      reported_cost_usd: reportedUnits / UNITS_PER_USD,
      computed_cost_usd: computedUnits / UNITS_PER_USD,
      subagent_cost_usd: childUnits / UNITS_PER_USD,
      difference_usd: (computedUnits - reportedUnits) / UNITS_PER_USD,
      difference_ratio: reportedUnits === 0 ? null : (computedUnits - reportedUnits) / reportedUnits,
      unfinalised_responses: responses.filter(({ estimatedOutput }) => estimatedOutput !== null).length,
      unpriced_responses: responses.filter(({ basis }) => basis === 'unpriced').length,
    };
  };
  const reported = sessions.filter(({ reportedUnits }) => reportedUnits !== null);
  const isClose = (session: SessionFact): boolean => {
    const { difference_usd: difference, reported_cost_usd: cost } = toRow([session]) as Record<string, number>;
    return Math.abs(difference ?? 0) <= 0.01 * (cost ?? 0);
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
  const toCosts = (sessionIds: ReadonlySet<string>): { responses: number; total_tokens: number; units: number } => {
    const children = facts.sessions.filter(({ parentId }) => parentId !== null && sessionIds.has(parentId));
    const members = new Set([...sessionIds, ...children.map(({ id }) => id)]);
    const responses = facts.responses.filter(({ sessionId }) => members.has(sessionId));
    return {
      responses: responses.length,
      total_tokens: sum(responses, toTokens),
      units: sum(responses, ({ costs }) => sumUnits(costs)),
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
      cost_usd: units / UNITS_PER_USD,
    };
  });
  const { units, ...figures } = toCosts(new Set(links.map(({ sessionId }) => sessionId)));
  return {
    rows,
    totals: {
      pull_requests: rows.length,
      mean_cost_usd: Math.round(units / rows.length) / UNITS_PER_USD,
      sessions: countDistinct(links, ({ sessionId }) => sessionId),
      ...figures,
      cost_usd: units / UNITS_PER_USD,
    },
  };
}
