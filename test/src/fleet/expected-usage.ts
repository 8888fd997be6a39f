import { expect } from 'vitest';
import { type FleetFacts, type ResponseFact, type SessionFact, sumUnits } from './facts.ts';
import { countDistinct, groupItems, type Item, type Question, sum } from './question.ts';

export const UNITS_PER_USD = 1e10;
const QUARTER_HOUR_MS = 15 * 60_000;
const BLOCK_MS = 5 * 3_600_000;
const HOUR_MS = 3_600_000;

export interface Report {
  rows: object[];
  totals: object;
}

interface Copy extends Item {
  response: ResponseFact;
  isShared: boolean;
}

/** Each response once for every session that holds it. */
function listCopies({ responses, sessions }: FleetFacts): Copy[] {
  const byId = new Map(sessions.map((session) => [session.id, session]));
  return responses.flatMap((response) =>
    [...response.holders].map((holder) => {
      const session = byId.get(holder);
      if (session === undefined) throw new Error(`no session ${holder}`);
      const { atMs, isSubagent, branch, version, model } = response;
      return { response, session, isShared: holder !== response.sessionId, atMs, isSubagent, branch, version, model };
    }),
  );
}

export const listOwn = (facts: FleetFacts): Copy[] => listCopies(facts).filter(({ isShared }) => !isShared);

export const toTokens = ({ usage }: ResponseFact): number =>
  usage.input + usage.output + usage.cacheRead + usage.cacheWrite5m + usage.cacheWrite1h;

/** Cost of those that have a price; null if there are some but none has one. */
export const toKnownUnits = (responses: readonly ResponseFact[]): number | null =>
  responses.length > 0 && responses.every(isUnpriced) ? null : sum(responses, ({ costs }) => sumUnits(costs));

export const toUsdOrNull = (units: number | null): number | null => (units === null ? null : units / UNITS_PER_USD);

export const isUnpriced = ({ basis }: ResponseFact): boolean => basis === 'unpriced';

export function toFigures(responses: readonly ResponseFact[]): object {
  const tokensIn = sum(responses, ({ usage }) => usage.input);
  const cacheRead = sum(responses, ({ usage }) => usage.cacheRead);
  const cacheWrite = sum(responses, ({ usage }) => usage.cacheWrite5m + usage.cacheWrite1h);
  const input = tokensIn + cacheRead + cacheWrite;
  const unfinalised = responses.filter(({ estimatedOutput }) => estimatedOutput !== null);
  const unpriced = responses.filter(isUnpriced);
  const toUsd = (name: keyof NonNullable<ResponseFact['costs']>): number =>
    sum(responses, ({ costs }) => costs?.[name] ?? 0) / UNITS_PER_USD;
  return {
    responses: responses.length,
    tokens_in: tokensIn,
    tokens_out: sum(responses, ({ usage }) => usage.output),
    cache_read: cacheRead,
    cache_write: cacheWrite,
    cache_write_1h: sum(responses, ({ usage }) => usage.cacheWrite1h),
    thinking_tokens: 0,
    total_tokens: sum(responses, toTokens),
    cache_hit_ratio: input === 0 ? null : cacheRead / input,
    web_search_requests: sum(responses, ({ usage }) => usage.webSearches),
    cost_usd: toUsdOrNull(toKnownUnits(responses)),
    cost_by_class:
      toKnownUnits(responses) === null
        ? null
        : {
            input: toUsd('input'),
            output: toUsd('output'),
            cache_read: toUsd('cacheRead'),
            cache_write: toUsd('cacheWrite'),
            web_search: toUsd('webSearch'),
          },
    unfinalised: {
      responses: unfinalised.length,
      tokens_out: sum(unfinalised, ({ usage }) => usage.output),
      estimated_tokens_out: sum(unfinalised, ({ estimatedOutput }) => estimatedOutput ?? 0),
    },
    unpriced: { responses: unpriced.length, tokens: sum(unpriced, toTokens) },
    default_priced_responses: responses.filter(({ basis }) => basis === 'default').length,
  };
}

const toResponses = (copies: readonly Copy[], isShared: boolean): ResponseFact[] =>
  copies.filter((copy) => copy.isShared === isShared).map(({ response }) => response);

export function expectUsage(facts: FleetFacts, question: Question): Report {
  const hasMessages =
    question.model === undefined &&
    question.branch === undefined &&
    !question.groupBy.some((key) => key === 'model' || key === 'git_branch' || key === 'agent_version');
  const toRows = (asked: Question): object[] => {
    const usage = groupItems(asked, listCopies(facts));
    const messages = hasMessages ? groupItems(asked, listMessages(facts.sessions)) : new Map<string, never>();
    return [...new Set([...usage.keys(), ...messages.keys()])].map((name) => {
      const copies = usage.get(name)?.items ?? [];
      const written = messages.get(name)?.items ?? [];
      return {
        ...(usage.get(name) ?? messages.get(name))?.values,
        sessions: countDistinct(copies, ({ session }) => session),
        messages: hasMessages ? written.length : null,
        user_messages: hasMessages ? written.filter(({ isUser }) => isUser).length : null,
        own: toFigures(toResponses(copies, false)),
        shared: toFigures(toResponses(copies, true)),
      };
    });
  };
  const [totals = {}] = toRows({ ...question, groupBy: [] });
  return { rows: toRows(question), totals };
}

function listMessages(sessions: readonly SessionFact[]): (Item & { isUser: boolean })[] {
  return sessions.flatMap((session) =>
    session.messages.map((message) => ({ ...message, session, branch: session.branch, version: session.version })),
  );
}

export function expectModels(facts: FleetFacts, question: Question): Report {
  const own = listOwn(facts);
  const toQuarter = (ms: number): string => new Date(ms - (ms % QUARTER_HOUR_MS)).toISOString();
  const toModel = ({ model = null }: Copy) => ({ model });
  const groups = groupItems(question, own, toModel);
  const copies = groupItems(question, listCopies(facts), toModel);
  const rows = [...groups].map(([key, { values, items }]) => ({
    ...values,
    is_priced: items.every(({ response }) => response.basis !== 'unpriced'),
    sessions: countDistinct(copies.get(key)?.items ?? [], ({ session }) => session),
    first_used: toQuarter(Math.min(...items.map(({ atMs }) => atMs))),
    last_used: toQuarter(Math.max(...items.map(({ atMs }) => atMs))),
    ...toFigures(items.map(({ response }) => response)),
  }));
  const [all] = groupItems(question, own).values();
  const [allCopies] = groupItems(question, listCopies(facts)).values();
  const sessions = countDistinct(allCopies?.items ?? [], ({ session }) => session);
  const figures = toFigures(all?.items.map(({ response }) => response) ?? []);
  return { rows, totals: { models: rows.length, sessions, ...figures } };
}

/** Blocks of five hours, each from the full hour of the first response after the end of the previous one. */
export function expectBlocks(facts: FleetFacts, nowMs: number): Report {
  const own = listOwn(facts).sort((a, b) => a.atMs - b.atMs);
  const blocks: { startMs: number; copies: Copy[] }[] = [];
  for (const copy of own) {
    const last = blocks.at(-1);
    if (last !== undefined && copy.atMs < last.startMs + BLOCK_MS) last.copies.push(copy);
    else blocks.push({ startMs: copy.atMs - (copy.atMs % HOUR_MS), copies: [copy] });
  }
  const rows = blocks.map(({ startMs, copies }) => ({
    start: new Date(startMs).toISOString(),
    end: new Date(startMs + BLOCK_MS).toISOString(),
    is_active: startMs <= nowMs && nowMs < startMs + BLOCK_MS,
    sessions: countDistinct(copies, ({ session }) => session),
    models: [...new Set(copies.flatMap(({ model }) => model ?? []))].sort(),
    ...toFigures(copies.map(({ response }) => response)),
  }));
  return { rows, totals: { blocks: rows.length, ...toFigures(own.map(({ response }) => response)) } };
}

/** Dollars of the output beyond the placeholders, at the average price of the model's output. */
function toMissingUsd(responses: readonly ResponseFact[]): number {
  let missing = 0;
  for (const model of new Set(responses.map((response) => response.model))) {
    const own = responses.filter((response) => response.model === model && response.costs !== null);
    const tokens = sum(own, ({ usage, estimatedOutput }) => (estimatedOutput ?? usage.output) - usage.output);
    const counted = sum(own, ({ usage }) => usage.output);
    if (counted > 0) missing += (tokens * sum(own, ({ costs }) => costs?.output ?? 0)) / counted / 1e10;
  }
  return missing;
}

export function expectCaveats(facts: FleetFacts, question: Question): object {
  const [all] = groupItems({ ...question, groupBy: [] }, listOwn(facts)).values();
  const responses = all?.items.map(({ response }) => response) ?? [];
  const { unfinalised, default_priced_responses } = toFigures(responses) as Record<string, unknown>;
  const unpriced = responses.filter(({ basis }) => basis === 'unpriced');
  return {
    unfinalised: { ...(unfinalised as object), estimated_cost_usd: expect.closeTo(toMissingUsd(responses), 9) },
    unpriced: {
      responses: unpriced.length,
      tokens: sum(unpriced, toTokens),
      models: [...new Set(unpriced.map(({ model }) => model))],
      terms: [],
    },
    price_date: expect.any(String),
    default_priced_responses,
    // The fleet's copies are placeholders and resumed sessions; none is forged.
    disagreements: { responses: 0, cost_usd: 0, lowest_cost_usd: 0, highest_cost_usd: 0 },
    sessions: { without_usage: 0, output_only: 0 },
    without_timestamp: 0,
  };
}
