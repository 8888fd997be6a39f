import type { Difference } from './compare.ts';
import type { Exchange } from './server/exchange.ts';

/** A request as the telemetry of a program has it. */
export interface SaidRequest {
  /** Different for all others. */
  key: string;
  /** In the program's word; null if it does not say. */
  purpose: string | null;
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

/** Figures of recount's report about telemetry that are compared. */
export const REPORTED = [
  'requests',
  'differing_requests',
  'telemetry_only_requests',
  'transcript_only_requests',
  'missing_sessions',
] as const;

export type Reported = Record<(typeof REPORTED)[number], number>;

export const NOTHING_REPORTED: Readonly<Reported> = {
  requests: 0,
  differing_requests: 0,
  telemetry_only_requests: 0,
  transcript_only_requests: 0,
  missing_sessions: 0,
};

export interface TelemetryFound {
  requests: readonly SaidRequest[];
  /** Of these requests and their sessions. */
  reported: Reported;
}

interface Told {
  isKilled: boolean;
  unwritten: readonly number[];
  tellsNoSummaries: boolean;
}

const CLASSES = ['input', 'cacheRead', 'cacheWrite', 'output'] as const;
const describe = (tokens: Record<(typeof CLASSES)[number], number>): string =>
  CLASSES.map((name) => `${name} ${tokens[name]}`).join(', ');

/**
 * Compares what a program said by telemetry with what the server answered, and recount's report about both. `unwritten`
 * are the numbers of answers that the program's sessions do not have. A program that is killed exports less, and one with
 * `tellsNoSummaries` leaves out its requests for a summary.
 */
export function compareTelemetry(
  exchanges: readonly Exchange[],
  { requests, reported }: TelemetryFound,
  { isKilled, unwritten, tellsNoSummaries }: Told,
): { differences: Difference[]; onlyTelemetry: SaidRequest[] } {
  const open = new Set(exchanges.filter(({ outcome }) => outcome !== 'refused'));
  const onlyTelemetry: SaidRequest[] = [];
  const texts: string[] = [];
  for (const request of requests) {
    const exchange = [...open].find(({ tokens }) => CLASSES.every((name) => tokens[name] === request[name]));
    if (exchange === undefined) {
      texts.push(`a request that the server answered otherwise or never: ${describe(request)}, ${request.purpose}`);
      continue;
    }
    open.delete(exchange);
    if (unwritten.includes(exchange.number)) onlyTelemetry.push(request);
  }
  const unsaid = [...open].filter(({ outcome }) => outcome === 'answered');
  const untold = tellsNoSummaries ? unsaid.filter(({ isSummary }) => isSummary) : [];
  if (!isKilled) {
    const missing = unsaid.filter((exchange) => !untold.includes(exchange));
    texts.push(...missing.map(({ number, tokens }) => `answer ${number} is missing: ${describe(tokens)}`));
  }
  const right: Reported = {
    ...NOTHING_REPORTED,
    requests: requests.length,
    telemetry_only_requests: onlyTelemetry.length,
    transcript_only_requests: untold.filter(({ number }) => !unwritten.includes(number)).length,
    ...(isKilled && { transcript_only_requests: reported.transcript_only_requests }),
  };
  for (const name of REPORTED) {
    if (right[name] !== reported[name]) texts.push(`${name} of the report: ${right[name]}, found ${reported[name]}`);
  }
  return { differences: texts.map((text) => ({ way: 'telemetry', text })), onlyTelemetry };
}
