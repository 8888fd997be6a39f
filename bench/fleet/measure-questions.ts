import {
  type DatabasePool,
  findSession,
  listMessages,
  listSessions,
  parseSearchTarget,
  readSessionTrust,
  type SessionFilter,
  type SessionPage,
  searchTranscripts,
} from '@recount/db';
import { type Cost, measure } from './measure.ts';
import { FLEET_WORKSPACE } from './seed-fleet.ts';

export interface QuestionCost {
  question: string;
  cost: Cost;
}

const FIRST_PAGE: SessionPage = { sort: 'last_timestamp', order: 'desc', limit: 50 };
const FILTERS: Record<string, SessionFilter> = {
  'of a project': { project: ['/home/ada/project-7'] },
  'of a model': { model: ['claude-haiku-4-5'] },
  'that cost $9 or more': { minCostUsd: 9 },
  'of a month': { from: '2025-09-01T00:00:00Z', to: '2025-10-01T00:00:00Z' },
  'that called a tool': { calls: { tool_name: 'mcp__server__query' } },
  'that touched a file': { file: '/home/ada/project-7/src/file-49' },
  'with errors': { hasErrors: true },
  'with a pull request': { pullRequest: 'https://github.com/ada/app/pull/77' },
};

/** Pages of the lists of sessions, and single sessions. */
export async function* measureSessions(database: DatabasePool, sessionCount: number): AsyncGenerator<QuestionCost> {
  const list = (filter: SessionFilter, page: SessionPage) =>
    measure(database, () => listSessions(database.database, FLEET_WORKSPACE, filter, page));
  yield { question: 'sessions, first page', cost: await list({}, FIRST_PAGE) };
  const middle = `session-${Math.floor(sessionCount / 2)}`;
  const session = await findSession(database.database, FLEET_WORKSPACE, middle);
  const after = { sortKey: session?.last_timestamp ?? '', sessionId: middle };
  yield { question: 'sessions, page in the middle', cost: await list({}, { ...FIRST_PAGE, after }) };
  yield {
    question: 'sessions, the most expensive',
    cost: await list({}, { ...FIRST_PAGE, sort: 'cost_estimate_usd' }),
  };
  yield { question: 'sessions, the longest', cost: await list({}, { ...FIRST_PAGE, sort: 'duration_ms' }) };
  for (const [name, filter] of Object.entries(FILTERS)) {
    yield { question: `sessions ${name}`, cost: await list(filter, FIRST_PAGE) };
  }
  const readSession = async (): Promise<void> => {
    const found = await findSession(database.database, FLEET_WORKSPACE, middle);
    await readSessionTrust(database.database, FLEET_WORKSPACE, found?.session_id ?? '');
    await listMessages(database.database, FLEET_WORKSPACE, found?.primary_transcript_id ?? '', { limit: 100 });
  };
  yield { question: 'one session', cost: await measure(database, readSession) };
}

/** Searches for a word in one document, for a word in many, and for parts of both. */
export async function* measureSearches(
  database: DatabasePool,
  { rareWord, frequentWord }: { rareWord: string; frequentWord: string },
): AsyncGenerator<QuestionCost> {
  const search = (mode: 'text' | 'substring', text: string): Promise<Cost> => {
    const target = parseSearchTarget(mode, text);
    if (typeof target === 'string') throw new Error(`not to be searched for: ${text}`);
    const request = { timeZone: 'Europe/Berlin', subagents: 'include' } as const;
    const page = { sort: 'relevance', limit: 20 } as const;
    return measure(database, () => searchTranscripts(database, FLEET_WORKSPACE, target, request, page, 600_000), 3);
  };
  yield { question: 'search, rare word', cost: await search('text', rareWord) };
  yield { question: 'search, part of a rare word', cost: await search('substring', rareWord.slice(1, -1)) };
  yield { question: 'search, frequent word', cost: await search('text', frequentWord) };
  yield { question: 'search, part of a frequent word', cost: await search('substring', frequentWord.slice(0, 5)) };
}
