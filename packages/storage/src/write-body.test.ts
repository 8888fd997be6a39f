import { describe, expect, test } from 'vitest';
import { writeBody } from './write-body.ts';

async function drain(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of chunks) expect(chunk).toBeInstanceOf(Uint8Array);
}

/** Yields `chunks`, then runs `end`, and records whether it was closed. */
function createBody(chunks: Uint8Array[], end: () => Promise<void> = async () => {}) {
  const body = {
    isClosed: false,
    async *[Symbol.asyncIterator]() {
      try {
        yield* chunks;
        await end();
      } finally {
        body.isClosed = true;
      }
    },
  };
  return body;
}

describe('writeBody', () => {
  test('counts bytes', async () => {
    const body = createBody([Buffer.from('ab'), Buffer.alloc(0), Buffer.from('c')]);
    expect(await writeBody(body, undefined, drain)).toBe(3);
    expect(await writeBody(createBody([]), undefined, drain)).toBe(0);
  });

  test("rethrows the body's own error, however the writer wraps or hides it", async () => {
    const bodyError = new Error('the client went away');
    const failing = () => createBody([Buffer.from('a')], () => Promise.reject(bodyError));
    const wrap = async (chunks: AsyncIterable<Uint8Array>) => {
      await drain(chunks).catch((cause) => Promise.reject(new Error('wrapped', { cause })));
    };
    const hide = (chunks: AsyncIterable<Uint8Array>) => drain(chunks).catch(() => undefined);
    await expect(writeBody(failing(), undefined, wrap)).rejects.toBe(bodyError);
    await expect(writeBody(failing(), undefined, hide)).rejects.toBe(bodyError);
  });

  test("rejects with the writer's error, and closes a body that it began to read", async () => {
    const writerError = new Error('disk full');
    const body = createBody([Buffer.from('a'), Buffer.from('b')]);
    const failAfterOne = async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const _chunk of chunks) throw writerError;
    };
    await expect(writeBody(body, undefined, failAfterOne)).rejects.toBe(writerError);
    expect(body.isClosed).toBe(true);
  });

  test('closes a body whose writer failed before it read', async () => {
    let isClosed = false;
    const iterator: AsyncIterator<Uint8Array> = {
      next: () => Promise.reject(new Error('not to be read')),
      return: async () => {
        isClosed = true;
        return { done: true, value: undefined };
      },
    };
    const writerError = new Error('no folder');
    const write = () => Promise.reject(writerError);
    await expect(writeBody({ [Symbol.asyncIterator]: () => iterator }, undefined, write)).rejects.toBe(writerError);
    expect(isClosed).toBe(true);
  });

  test('an abort ends a read that would never end, with the reason', async () => {
    const abort = new AbortController();
    const reason = new Error('shutting down');
    const body = createBody([Buffer.from('a')], () => new Promise(() => {}));
    setImmediate(() => abort.abort(reason));
    await expect(writeBody(body, abort.signal, drain)).rejects.toBe(reason);
  });
});
