import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { settleLedger } from './local-ledger.ts';
import type { StoredFile } from './file-scan.ts';
import { scanFiles, scanStored } from './scan-files.ts';

const toText = (lines: readonly object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');

const toTotals = (rows: ReturnType<typeof settleLedger>['rows']) => ({
  responses: rows.length,
  inputTokens: rows.reduce((sum, { usage }) => sum + (usage.inputTokens ?? 0), 0),
  outputTokens: rows.reduce((sum, { usage }) => sum + (usage.outputTokens ?? 0), 0),
  cacheReadTokens: rows.reduce((sum, { usage }) => sum + (usage.cacheReadTokens ?? 0), 0),
});

describe('a thread of Codex', () => {
  const THREAD = '019a0000-0000-7000-8000-000000000001';
  const NAME = `rollout-2026-11-01T10-00-00-${THREAD}.jsonl`;
  const at = (second: number) => new Date(Date.UTC(2026, 10, 1, 10, 0, second)).toISOString();
  const toLine = (second: number, type: string, payload: object) => ({ timestamp: at(second), type, payload });
  const toCounts = (responses: number) => ({
    ...{ input_tokens: 100 * responses, cached_input_tokens: 60 * responses, output_tokens: 20 * responses },
    ...{ reasoning_output_tokens: 0, total_tokens: 120 * responses },
  });
  /** The thread's turns up to this one, with one response each. */
  const toRollout = (turns: number, hasRecords: boolean): string =>
    toText([
      toLine(0, 'session_meta', { id: THREAD, timestamp: at(0), cwd: '/home/ada/app', cli_version: '0.150.0' }),
      ...Array.from({ length: turns }, (_, index) => {
        const second = 10 * (index + 1);
        const turnId = `019b0000-0000-7000-8000-00000000000${index}`;
        const usage = toCounts(1);
        const content = [{ type: 'output_text', text: 'Done' }];
        const record = { thread_id: THREAD, turn_id: turnId, response_id: `resp_${index}`, usage };
        return [
          toLine(second, 'turn_context', { turn_id: turnId, model: 'gpt-5', cwd: '/home/ada/app' }),
          toLine(second + 1, 'response_item', { type: 'message', role: 'assistant', content }),
          ...(hasRecords ? [toLine(second + 1, 'token_usage_record', record)] : []),
          toLine(second + 2, 'event_msg', {
            type: 'token_count',
            info: { total_token_usage: toCounts(index + 1), last_token_usage: usage },
          }),
        ];
      }).flat(),
    ]);

  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'recount-ledger-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  async function save(name: string, content: string | Buffer) {
    const path = join(directory, name);
    await writeFile(path, content);
    const { size, mtimeMs } = await stat(path);
    return { path, sizeBytes: size, modifiedAtMs: mtimeMs };
  }

  it.each([
    { what: 'in sessions/ and archived_sessions/', turns: [2, 2], name: `archived-${NAME}` },
    { what: 'there and in archived_sessions/ compressed', turns: [2, 2], name: `archived-${NAME}.zst` },
    { what: 'as it was archived and as it was resumed', turns: [2, 3], name: `resumed-${NAME}` },
    { what: 'archived after it was resumed', turns: [1, 3], name: `archived-${NAME}.zst` },
  ])('counts once if it lies $what, in either order', async ({ turns: [one = 0, other = 0], name }) => {
    for (const hasRecords of [false, true]) {
      const text = toRollout(other, hasRecords);
      const files = [
        await save(NAME, toRollout(one, hasRecords)),
        await save(name, name.endsWith('.zst') ? zstdCompressSync(text) : text),
      ];
      for (const ordered of [files, files.toReversed()]) {
        let next = 0;
        const scanned = await scanFiles(ordered, () => next++);
        expect(scanned.files.map(({ status, sessionId }) => [status, sessionId])).toEqual([
          ['read', THREAD],
          ['read', THREAD],
        ]);
        const { rows, shared } = settleLedger(scanned);
        expect(toTotals(rows)).toEqual({
          responses: other,
          inputTokens: 40 * other,
          outputTokens: 20 * other,
          cacheReadTokens: 60 * other,
        });
        expect(new Set(rows.map(({ sessionId }) => sessionId))).toEqual(new Set([THREAD]));
        expect(shared).toEqual([]);
      }
    }
  });
});

describe('trees of Pi and OMP', () => {
  interface Entry {
    line: object;
    parent: Entry | undefined;
    output: number;
  }
  interface Session {
    path: string;
    header: object;
    entries: Entry[];
  }

  const anyStep = fc.record({
    session: fc.nat(),
    /** The entry that the step continues; anything but the last one starts a branch. */
    entry: fc.nat(),
    kind: fc.constantFrom('answer', 'answer', 'compaction', 'fork', 'subagent'),
    output: fc.integer({ min: 1, max: 3 }),
  });
  const anyFleet = fc.record({
    agent: fc.constantFrom('pi', 'omp'),
    steps: fc.array(anyStep, { minLength: 1, maxLength: 14 }),
  });
  type Fleet = typeof anyFleet extends fc.Arbitrary<infer T> ? T : never;

  function makeSessions({ agent, steps }: Fleet): Session[] {
    const sessions: Session[] = [];
    let seconds = 0;
    const nextTime = () => new Date(Date.UTC(2026, 4, 12) + 1000 * seconds++).toISOString();
    const begin = (folder: string, parent?: Session, entries: Entry[] = []): Session => {
      const id = `0190aaaa-0000-7000-8000-${String(sessions.length).padStart(12, '0')}`;
      const timestamp = nextTime();
      const header = { type: 'session', version: 3, id, timestamp, cwd: '/home/ada/app' };
      const path = `${folder}/${timestamp.replaceAll(/[:.]/g, '-')}_${id}.jsonl`;
      const session = { path, header: { ...header, ...(parent && { parentSession: parent.path }) }, entries };
      sessions.push(session);
      return session;
    };
    const toEntry = (parent: Entry | undefined, kind: 'answer' | 'compaction', output: number): Entry => {
      const timestamp = nextTime();
      const usage = { input: 5, output, cacheRead: 7, cacheWrite: 0, totalTokens: 12 + output, cost: { total: 0 } };
      const parentId = (parent?.line as { id?: string } | undefined)?.id ?? null;
      const envelope = { id: seconds.toString(16).padStart(8, '0'), parentId, timestamp };
      const model = { api: 'anthropic-messages', provider: 'anthropic', model: 'claude-sonnet-4-5' };
      const message = { role: 'assistant', content: [], ...model, usage, stopReason: 'stop' };
      const line =
        kind === 'answer'
          ? { type: 'message', ...envelope, message: { ...message, timestamp: Date.parse(timestamp) } }
          : { type: 'compaction', ...envelope, summary: 'All of it', tokensBefore: 50, usage };
      return { line, parent, output };
    };

    const root = `/home/ada/.${agent}/agent/sessions/--home-ada-app--`;
    begin(root);
    for (const { session: at, entry, kind, output } of steps) {
      const session = sessions[at % sessions.length] as Session;
      const from = session.entries[entry % Math.max(1, session.entries.length)];
      if (kind === 'fork') {
        const path: Entry[] = [];
        for (let step = from; step !== undefined; step = step.parent) path.unshift(step);
        const fork = begin(root, session, path);
        fork.entries.push(toEntry(from, 'answer', output));
      } else if (kind === 'subagent') {
        // Pi has no sub-agents. There it is a session beside the others.
        const child = begin(agent === 'omp' ? session.path.replace(/\.jsonl$/, '') : root);
        child.entries.push(toEntry(undefined, 'answer', output));
      } else {
        session.entries.push(toEntry(from, kind, output));
      }
    }
    return sessions;
  }

  const toStored = ({ path, header, entries }: Session): StoredFile => ({
    ...{ path, sizeBytes: 0, modifiedAtMs: 0, version: '1' },
    async *open() {
      yield Buffer.from(toText([header, ...entries.map(({ line }) => line)]));
    },
  });

  async function count(sessions: readonly Session[]) {
    const scanned = await scanStored(sessions.map(toStored));
    expect(scanned.files.filter(({ status }) => status !== 'read')).toEqual([]);
    return toTotals(settleLedger(scanned).rows);
  }

  function countTruth(sessions: readonly Session[]) {
    const entries = [...new Set(sessions.flatMap((session) => session.entries))];
    const outputTokens = entries.reduce((sum, { output }) => sum + output, 0);
    const { length: responses } = entries;
    return { responses, inputTokens: 5 * responses, outputTokens, cacheReadTokens: 7 * responses };
  }

  it('count each response once, whichever sessions are present, however often, early or late', async () => {
    await fc.assert(
      fc.asyncProperty(anyFleet, fc.infiniteStream(fc.nat(99)), async (fleet, random) => {
        const next = (): number => random.next().value ?? 0;
        const all = makeSessions(fleet);
        // Parents may be missing, and so may children.
        const present = all.filter(() => next() % 4 > 0);
        const earlier = present.map((session) => ({
          ...session,
          entries: session.entries.slice(0, next() % (session.entries.length + 1)),
        }));
        const uploads = [...present, ...earlier, ...present.slice(0, 2)]
          .map((session) => ({ session, rank: next() }))
          .sort((one, other) => one.rank - other.rank)
          .map(({ session }) => session);
        expect(await count(all)).toEqual(countTruth(all));
        expect(await count(uploads)).toEqual(countTruth(present));
      }),
    );
  });
});
