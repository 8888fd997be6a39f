import { PassThrough, Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createCheckpointRegistry } from './checkpoints.ts';
import { createStreamParser, type ParserEvent, type StreamParserOptions } from './stream-parser.ts';
import { claudeStream, initLine, resultLine, toBytes } from './testing/stream-lines.ts';

const open = (source: Readable, options: Partial<StreamParserOptions> = {}) =>
  createStreamParser({ sessionId: 'session', source, now: () => 0, ...options });

async function collect(parser: AsyncIterable<ParserEvent>): Promise<ParserEvent[]> {
  const events: ParserEvent[] = [];
  for await (const event of parser) events.push(event);
  return events;
}

const closed = (parser: ReturnType<typeof open>) => new Promise((resolve) => parser.once('close', resolve));

describe('createStreamParser', () => {
  it('emits typed events, and yields the same ones to an iterator', async () => {
    const parser = open(Readable.from([toBytes(claudeStream)]));
    const emitted: ParserEvent[] = [];
    for (const type of [
      'session-start',
      'text',
      'tool-start',
      'tool-end',
      'result',
      'prompt',
      'progress',
      'unknown',
      'warning',
      'close',
    ] as const) {
      parser.on(type, (event: ParserEvent) => emitted.push(event));
    }
    const iterated = await collect(parser);
    expect(emitted).toEqual(iterated);
    expect(iterated.at(-1)).toMatchObject({
      type: 'close',
      state: 'complete',
      error: null,
      summary: {
        model: 'claude-opus-4-8',
        costUsd: 0.02,
        tokens: { tokens_in: 18, tokens_out: 60 },
        lastResult: { success: true },
        stopReason: 'end_turn',
      },
    });
  });

  it('reports the agent id once, from the init line', async () => {
    const ids: string[] = [];
    const lines = [initLine(), initLine({ session_id: 'other' })];
    await collect(open(Readable.from([toBytes(lines)]), { onSessionIdCaptured: (id) => ids.push(id) }));
    expect(ids).toEqual(['11111111-2222-4333-8444-555555555555']);
  });

  it('fills a registry of checkpoints', async () => {
    const checkpoints = createCheckpointRegistry();
    const parser = open(Readable.from([toBytes(claudeStream)]));
    parser.on('progress', ({ checkpoint }) => {
      if (checkpoint !== undefined) checkpoints.addCheckpoint(parser.sessionId, checkpoint);
    });
    await closed(parser);
    expect(checkpoints.getCheckpoints('session')).toEqual(['u-1']);
  });

  it('passes through its states', async () => {
    const source = new PassThrough();
    const parser = open(source);
    expect(parser.state).toBe('sending');
    const started = new Promise((resolve) => parser.once('session-start', resolve));
    source.write(toBytes([initLine()]));
    await started;
    expect(parser.state).toBe('streaming');
    const end = closed(parser);
    source.end(toBytes([resultLine()]));
    await end;
    expect(parser.state).toBe('complete');

    const failed = open(Readable.from([toBytes([resultLine({ is_error: true })])]));
    await closed(failed);
    expect(failed.state).toBe('error');
  });

  it('has its figures on close even if no result came', async () => {
    const events = await collect(open(Readable.from([toBytes(claudeStream.slice(0, -1))])));
    expect(events.at(-1)).toMatchObject({
      type: 'close',
      summary: { lastResult: null, tokens: { tokens_out: 60 }, stopReason: 'end_turn' },
    });
  });

  it('reports a source that fails, with or without a listener', async () => {
    const source = () =>
      Readable.from(
        (async function* () {
          yield toBytes([initLine()]);
          throw new Error('reset');
        })(),
        { objectMode: false },
      );
    const events = await collect(open(source()));
    expect(events.map(({ type }) => type)).toEqual(['session-start', 'error', 'close']);
    expect(events.at(-1)).toMatchObject({ state: 'error', success: false, error: 'reset' });
    const heard: string[] = [];
    const parser = open(source()).on('error', ({ error }) => heard.push(error.message));
    await closed(parser);
    expect(heard).toEqual(['reset']);
    expect(parser.state).toBe('error');
  });

  it('closes with a source that was destroyed, before or after', async () => {
    const before = new PassThrough();
    before.destroy();
    await closed(open(before));
    const after = new PassThrough();
    const parser = open(after);
    after.destroy();
    await closed(parser);
    expect((await collect(parser)).length).toBe(0);
  });

  it('reads text as well as bytes', async () => {
    const source = new PassThrough({ encoding: 'utf8' });
    const parser = open(source);
    const events = collect(parser);
    for (const byte of toBytes(claudeStream)) source.write(Uint8Array.of(byte));
    source.end();
    expect(await events).toEqual(await collect(open(Readable.from([toBytes(claudeStream)]))));
  });

  it('pauses the source while an iterator lags behind, and loses nothing', async () => {
    const line = toBytes([{ type: 'keep_alive' }]);
    const chunk = Buffer.concat(Array.from({ length: 100 }, () => line));
    let chunkCount = 0;
    const source = Readable.from(
      (function* () {
        for (; chunkCount < 100; chunkCount++) yield chunk;
      })(),
      { objectMode: false, highWaterMark: 1 },
    );
    let eventCount = 0;
    for await (const { type } of open(source)) {
      if (type === 'progress') eventCount++;
      if (eventCount === 1) await new Promise((resolve) => setTimeout(resolve, 20));
      expect(chunkCount * 100 - eventCount).toBeLessThan(1000);
    }
    expect(eventCount).toBe(10_000);
  });

  it('continues for others when an iterator leaves', async () => {
    const source = new PassThrough();
    const parser = open(source);
    let eventCount = 0;
    parser.on('progress', () => eventCount++);
    source.write(Buffer.concat(Array.from({ length: 1000 }, () => toBytes([{ type: 'keep_alive' }]))));
    for await (const _event of parser) break;
    const end = closed(parser);
    source.end(toBytes([{ type: 'keep_alive' }]));
    await end;
    expect(eventCount).toBe(1001);
  });
});
