import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestApi } from '@recount/api/testing/test-api';
import type { NewShare } from '@recount/contract';
import { PAYLOADS, toHostileNames, toHostileTranscript } from './hostile-session.ts';

const SAMPLES = join(import.meta.dirname, '../../../samples/claude-projects');
export const HOSTILE = 'hostile-session';
/** One of the samples, with most of what a session can hold. */
export const SESSION = 'eee65f53-e942-4ce5-b211-670eae679f02';
export const UNFINISHED = 'unfinished-session';

/** The samples, a hostile session and one that was left, ingested and found by search. */
export async function uploadSamples(api: TestApi): Promise<void> {
  for (const name of await readdir(SAMPLES, { recursive: true })) {
    if (name.endsWith('.jsonl')) await api.upload(await readFile(join(SAMPLES, name)), { path: join(SAMPLES, name) });
  }
  const toPath = (sessionId: string): string => `/home/a/.claude/projects/-home-a/${sessionId}.jsonl`;
  await api.upload(toUnfinishedTranscript(UNFINISHED), { path: toPath(UNFINISHED) });
  const [machine, person] = PAYLOADS;
  await api.upload(toHostileTranscript(HOSTILE), { path: toPath(HOSTILE), machine, person });
  for (const [index, payload] of PAYLOADS.entries()) {
    // Names that an uploader gives may have no control characters.
    const name = payload.replaceAll(/\p{Cc}/gu, '').slice(0, 200);
    const path = `/home/a/.claude/projects/${name}/names-${index}.jsonl`;
    const uploaded = await api.upload(toHostileNames(`names-${index}`, payload), { path, machine: name, person: name });
    if (!uploaded.ok) throw new Error(`names-${index}: ${uploaded.status} ${await uploaded.text()}`);
  }
  await api.work();
}

/** A link to the session for anyone who has it. */
export async function shareSession(api: TestApi, sessionId: string): Promise<NewShare> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ expires_in_days: 1 });
  const answer = await api.fetch(`/v1/sessions/${sessionId}/share`, { method: 'POST', headers, body });
  if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
  return (await answer.json()) as NewShare;
}

/** A session whose last call has no result. */
export function toUnfinishedTranscript(sessionId: string): string {
  const common = { sessionId, version: '2.1.50', cwd: '/home/a', isSidechain: false, userType: 'external' };
  const usage = { input_tokens: 10, output_tokens: 20, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const wait = { type: 'tool_use', id: `toolu_${sessionId}`, name: 'Bash', input: { command: 'sleep 999' } };
  const message = {
    id: `msg_${sessionId}`,
    role: 'assistant',
    model: 'claude-sonnet-4-5',
    stop_reason: 'tool_use',
    usage,
  };
  return [
    {
      ...common,
      type: 'user',
      uuid: 'u1',
      timestamp: '2026-05-05T10:00:00.000Z',
      message: { role: 'user', content: 'Wait for it' },
    },
    {
      ...common,
      type: 'assistant',
      uuid: 'u2',
      timestamp: '2026-05-05T10:00:05.000Z',
      message: { ...message, content: [wait] },
    },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');
}
