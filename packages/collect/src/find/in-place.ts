import type { SessionPlace } from '@recount/core';
import { AGENTS } from '@recount/core/agents';

type Kind = SessionPlace['holds'];

const tests = new Map<Kind, RegExp>();

/**
 * True if the end of a path is one of the places where agents keep transcripts or databases, below any home, such as
 * `…/.pi/agent/sessions/app/one.jsonl`. Places that only an environment variable names are not known here.
 */
export function isInPlace(path: string): boolean {
  const name = path.replaceAll('\\', '/');
  const isIn = (kind: Kind): boolean => toTest(kind).test(name);
  return (isIn('transcripts') || isIn('database')) && !isIn('aside');
}

function toTest(kind: Kind): RegExp {
  const known = tests.get(kind);
  if (known !== undefined) return known;
  const places = AGENTS.flatMap((agent) => agent.places ?? []);
  const patterns = places
    .filter(({ holds, listed }) => holds === kind && listed === undefined)
    .flatMap(({ bases, files }) =>
      bases.flatMap((base) => files.map((file) => [base, file].filter(Boolean).join('/'))),
    );
  const test = new RegExp(`(?:^|/)(?:${patterns.map(toExpression).join('|')})(?:\\.gz|\\.zst)?$`, 's');
  tests.set(kind, test);
  return test;
}

function toExpression(pattern: string): string {
  return pattern
    .split('/')
    .map((part) => (part === '**' ? '(?:[^/]+/)*' : `${toEscaped(part)}/`))
    .join('')
    .slice(0, -1);
}

const toEscaped = (part: string): string => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '[^/]*');
