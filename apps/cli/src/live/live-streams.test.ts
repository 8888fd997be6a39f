import { describe, expect, it, vi } from 'vitest';
import { detectAgent } from './detect-agent.ts';
import { createStallWatch } from './stall-watch.ts';

async function* toChunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

it.each([
  ['codex', ['{"type":"thread.started","thread_id":"x"}\n', 'rest']],
  ['amp', ['{"type":"system","subtype":"init","session_id":"T-1"', ',"tools":[]}\n', 'rest']],
  ['claude', ['noise\n', '{"type":"system","subtype":"init","session_id":"s","tools":[]}\n', 'rest']],
  ['claude', ['no stream at all']],
  ['claude', []],
])('recognises %s by its first lines, and loses no byte', async (expected, texts) => {
  const { agent, chunks } = await detectAgent(toChunks(...texts));
  let text = '';
  for await (const chunk of chunks) text += chunk.toString();
  expect({ agent: agent?.program.command, text }).toEqual({ agent: expected, text: texts.join('') });
});

it('waits only as long as it takes to recognise the agent', async () => {
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (;;) yield Buffer.alloc(100_000, 'x\n');
  }
  const { agent, chunks } = await detectAgent(endless());
  expect(agent?.id).toBe('claude-code');
  expect((await chunks[Symbol.asyncIterator]().next()).done).toBe(false);
});

describe('a stream whose agent is not recognised at once', () => {
  const init = '{"type":"thread.started","thread_id":"x"}\n';
  /** Yields each text after a pause in milliseconds. */
  async function* slowly(...texts: [afterMs: number, text: string][]): AsyncGenerator<Uint8Array> {
    for (const [afterMs, text] of texts) {
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      yield Buffer.from(text);
    }
  }
  const detect = async (stream: AsyncIterable<Uint8Array>, keepsShown: boolean) => {
    let raw = '';
    const showRaw = async (bytes: Uint8Array): Promise<void> => {
      raw += Buffer.from(bytes).toString();
    };
    const { agent, chunks, shown } = await detectAgent(stream, { showRaw, keepsShown });
    let rest = '';
    for await (const chunk of chunks) rest += chunk.toString();
    return { agent: agent?.id, raw, shown: Buffer.from(shown).toString(), rest };
  };

  it('is shown raw after half a second, until a line identifies the agent', async () => {
    const stream = () => slowly([0, 'Loading…\n'], [700, 'still '], [0, `loading\n${init}`], [0, 'rest']);
    expect(await detect(stream(), false)).toEqual({
      agent: 'codex',
      raw: 'Loading…\nstill loading\n',
      shown: '',
      rest: `${init}rest`,
    });
    expect(await detect(stream(), true)).toMatchObject({ shown: 'Loading…\nstill loading\n', rest: `${init}rest` });
  });

  it('waits if the pending line may identify it', async () => {
    const stream = slowly([0, 'Loading…\n{"type":"thread.'], [700, 'started","thread_id":"x"}\n']);
    expect(await detect(stream, false)).toEqual({ agent: 'codex', raw: 'Loading…\n', shown: '', rest: init });
  });

  it('is shown whole if it is identified in time', async () => {
    expect(await detect(slowly([0, 'Loading…\n'], [10, init]), false)).toMatchObject({
      agent: 'codex',
      raw: '',
      rest: `Loading…\n${init}`,
    });
  });
});

it('warns once of each silence', () => {
  vi.useFakeTimers();
  const said: string[] = [];
  const watch = createStallWatch(1000, {
    onStall: () => said.push('stall'),
    onResume: (silentMs) => said.push(`resume ${silentMs}`),
  });
  vi.advanceTimersByTime(900);
  watch.touch();
  vi.advanceTimersByTime(900);
  expect(said).toEqual([]);
  vi.advanceTimersByTime(5000);
  watch.touch();
  watch.stop();
  vi.advanceTimersByTime(5000);
  expect(said).toEqual(['stall', 'resume 5900']);
  vi.useRealTimers();
});
