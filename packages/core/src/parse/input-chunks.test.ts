import { Readable } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { collectGarbage } from '../testing/collect-garbage.ts';
import { type TranscriptInput, toChunks } from './input-chunks.ts';

async function read(input: TranscriptInput, signal?: AbortSignal): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of toChunks(input, signal)) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

async function* toSource<T>(...chunks: T[]): AsyncGenerator<T> {
  yield* chunks;
}

const never = new Promise<never>(() => {});

describe('toChunks', () => {
  it('cuts large inputs and large chunks into slices of at most 256 KiB', async () => {
    const bytes = Buffer.alloc(600 * 1024, 'abc');
    for (const input of [bytes, bytes.toString(), toSource(bytes)]) {
      const lengths: number[] = [];
      for await (const chunk of toChunks(input, undefined)) lengths.push(chunk.length);
      expect(lengths).toEqual([256 * 1024, 256 * 1024, 88 * 1024]);
    }
  });

  it('skips empty chunks', async () => {
    expect(await read(toSource<string | Uint8Array>(Buffer.alloc(0), '', Buffer.from('a')))).toEqual(Buffer.from('a'));
    expect(await read('')).toHaveLength(0);
  });

  it('encodes text as UTF-8, even if a chunk ends within a character', async () => {
    const text = 'a🎉é\ud83db';
    expect(await read(text)).toEqual(Buffer.from(text));
    expect(await read(toSource<string | Uint8Array>(...text.split('')))).toEqual(Buffer.from(text));
    expect(await read(Readable.from(text.split('')))).toEqual(Buffer.from(text));
    expect(await read(toSource('a\ud83d'))).toEqual(Buffer.from('a\uFFFD'));
  });

  it('refuses chunks of another type instead of dropping them', async () => {
    const source = toSource({ length: 3 }) as AsyncIterable<unknown> as AsyncIterable<Uint8Array>;
    await expect(read(source)).rejects.toThrow(TypeError);
  });
});

describe('a source that fails', () => {
  const failure = new Error('connection lost');

  it('throws its own error, before, between and after chunks', async () => {
    async function* failAfter(chunks: number): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < chunks; index++) yield Buffer.from('a\n');
      throw failure;
    }
    for (const chunks of [0, 1, 5]) {
      await expect(read(failAfter(chunks))).rejects.toBe(failure);
      await expect(read(failAfter(chunks), new AbortController().signal)).rejects.toBe(failure);
    }
    await expect(read(Readable.from(failAfter(2)))).rejects.toBe(failure);
    await expect(read(ReadableStream.from(failAfter(2)))).rejects.toBe(failure);
  });

  it('throws its own error even if next throws synchronously', async () => {
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          throw failure;
        },
      }),
    };
    for (const signal of [undefined, new AbortController().signal]) {
      await expect(read(source, signal)).rejects.toBe(failure);
    }
  });
});

describe('the end of a source', () => {
  it.each([
    ['never answers', () => never],
    ['fails', () => Promise.reject(new Error('close failed'))],
    [
      'throws',
      () => {
        throw new Error('close failed');
      },
    ],
    ['answers at once', () => ({ done: true, value: undefined })],
  ])('is requested, not awaited, when the reader leaves early with return %s', async (_name, close) => {
    const onReturn = vi.fn(close);
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false, value: Buffer.from('a\n') }),
        return: onReturn,
      }),
    } as AsyncIterable<Uint8Array>;
    for await (const chunk of toChunks(source, undefined)) {
      expect(chunk).toHaveLength(2);
      break;
    }
    expect(onReturn).toHaveBeenCalledOnce();
  });

  it('is not requested after the last chunk, and may be missing', async () => {
    const onReturn = vi.fn();
    const source = {
      [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: 0 }), return: onReturn }),
    };
    expect(await read(source as AsyncIterable<never>)).toHaveLength(0);
    expect(onReturn).not.toHaveBeenCalled();
  });
});

describe('an abort', () => {
  it('reads nothing and closes the source if it comes before the start', async () => {
    const next = vi.fn();
    const source = Readable.from([Buffer.from('a')]);
    expect(await read(source, AbortSignal.abort())).toHaveLength(0);
    expect(source.destroyed).toBe(true);
    expect(await read({ [Symbol.asyncIterator]: () => ({ next }) }, AbortSignal.abort())).toHaveLength(0);
    expect(next).not.toHaveBeenCalled();
    expect(await read('text', AbortSignal.abort())).toHaveLength(0);
  });

  it('ends the wait for a silent source, and destroys a Node stream', async () => {
    const sources = [
      new Readable({ read: () => {} }),
      new ReadableStream<Uint8Array>({ pull: () => never }),
      { [Symbol.asyncIterator]: () => ({ next: () => never, return: () => never }) },
    ];
    for (const source of sources) {
      const controller = new AbortController();
      setImmediate(() => controller.abort());
      expect(await read(source, controller.signal)).toHaveLength(0);
      if (source instanceof Readable) expect(source.destroyed).toBe(true);
    }
  });

  it('is noticed if the source itself aborts and then goes silent', async () => {
    const controller = new AbortController();
    const next = () => {
      controller.abort();
      return never;
    };
    expect(await read({ [Symbol.asyncIterator]: () => ({ next }) }, controller.signal)).toHaveLength(0);
  });

  it('hides no failure of the abandoned read, and leaves none unhandled', async () => {
    const controller = new AbortController();
    const { promise, reject } = Promise.withResolvers<never>();
    setImmediate(() => controller.abort());
    expect(await read({ [Symbol.asyncIterator]: () => ({ next: () => promise }) }, controller.signal)).toHaveLength(0);
    reject(new Error('too late'));
    // An unhandled rejection would fail the run.
    await collectGarbage();
  });

  it.each([
    ['bytes', Buffer.alloc(4 * 1024 * 1024)],
    ['text', 'a'.repeat(4 * 1024 * 1024)],
  ])('stops in the middle of %s in memory, even by a timer', async (_name, input) => {
    for (const source of [input, toSource(input)]) {
      const controller = new AbortController();
      setImmediate(() => controller.abort());
      expect((await read(source, controller.signal)).length).toBeLessThan(input.length);
    }
  });

  it('leaves no listener behind', async () => {
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, 'addEventListener');
    const remove = vi.spyOn(signal, 'removeEventListener');
    await read(toSource('a', 'b', 'c'), signal);
    await collectGarbage();
    expect(add).toHaveBeenCalledTimes(4);
    expect(remove).toHaveBeenCalledTimes(4);
  });

  it('keeps no chunk in memory if it never comes', async () => {
    const chunks: WeakRef<Uint8Array>[] = [];
    async function* source(): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < 20; index++) {
        const chunk = new Uint8Array(1024);
        chunks.push(new WeakRef(chunk));
        yield chunk;
      }
      await collectGarbage();
      yield Buffer.from([chunks.filter((chunk) => chunk.deref() !== undefined).length]);
    }
    let last: Uint8Array | undefined;
    for await (const chunk of toChunks(source(), new AbortController().signal)) last = chunk;
    // The last chunk may still be referenced by a local variable.
    expect(last?.[0]).toBeLessThanOrEqual(1);
  });
});
