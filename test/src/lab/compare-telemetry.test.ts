import { expect, it } from 'vitest';
import { compareTelemetry, NOTHING_REPORTED, type SaidRequest } from './compare-telemetry.ts';
import type { Exchange, Outcome } from './server/exchange.ts';

const toTokens = (number: number) => ({ input: number, cacheRead: 0, cacheWrite: 7, output: 10 * number });

const exchange = (number: number, outcome: Outcome = 'answered'): Exchange => ({
  ...{ number, wire: 'anthropic', outcome, marker: undefined, isSummary: false, model: 'm', responseId: `r${number}` },
  ...{ text: '', calls: [], offeredTools: [], serviceTier: undefined, speed: undefined },
  ...{ tokens: { ...toTokens(number), cacheWrite1h: 0, reasoning: 0 } },
});

const said = (number: number, purpose: string | null = null): SaidRequest => ({
  ...{ key: `k${number}`, purpose },
  ...toTokens(number),
});

const compare = (
  exchanges: Exchange[],
  requests: SaidRequest[],
  reported: Partial<typeof NOTHING_REPORTED>,
  told: { isKilled?: boolean; unwritten?: number[]; tellsNoSummaries?: boolean } = {},
) => {
  const found = { requests, reported: { ...NOTHING_REPORTED, requests: requests.length, ...reported } };
  const { differences, onlyTelemetry } = compareTelemetry(exchanges, found, {
    isKilled: false,
    unwritten: [],
    tellsNoSummaries: false,
    ...told,
  });
  return { texts: differences.map(({ text }) => text), only: onlyTelemetry.map(({ purpose }) => purpose) };
};

it('accepts telemetry that equals the answers, with what only it has', () => {
  const only = { telemetry_only_requests: 1 };
  expect(compare([exchange(1), exchange(2)], [said(1), said(2, 'compact')], only, { unwritten: [2] })).toEqual({
    texts: [],
    only: ['compact'],
  });
});

it('names a request without an answer, an answer without a request, and a report that is wrong', () => {
  const { texts } = compare([exchange(1), exchange(2)], [said(1), said(3, 'title')], { differing_requests: 1 });
  expect(texts).toEqual([
    'a request that the server answered otherwise or never: input 3, cacheRead 0, cacheWrite 7, output 30, title',
    'answer 2 is missing: input 2, cacheRead 0, cacheWrite 7, output 20',
    'differing_requests of the report: 0, found 1',
  ]);
});

it('expects no telemetry of answers that were refused or cut, nor of a program that was killed', () => {
  expect(compare([exchange(1), exchange(2, 'refused'), exchange(3, 'cut')], [said(1)], {}).texts).toEqual([]);
  expect(compare([exchange(1)], [], { transcript_only_requests: 1 }, { isKilled: true }).texts).toEqual([]);
  expect(compare([exchange(1)], [], { transcript_only_requests: 1 }).texts).toHaveLength(2);
});

it('expects no telemetry of summaries from a program that leaves them out, and no more of them in the report', () => {
  const summary = { ...exchange(2), isSummary: true };
  const told = { tellsNoSummaries: true };
  expect(compare([exchange(1), summary], [said(1)], { transcript_only_requests: 1 }, told).texts).toEqual([]);
  expect(compare([exchange(1), exchange(2)], [said(1)], { transcript_only_requests: 1 }, told).texts).toHaveLength(2);
  const unwritten = { ...told, unwritten: [2] };
  expect(compare([exchange(1), summary], [said(1)], {}, unwritten).texts).toEqual([]);
});
