import { expect, it, vi } from 'vitest';
import { peekChunks } from './peek-chunks.ts';

async function* toSource(onEnd = () => {}): AsyncGenerator<Buffer> {
  try {
    for (const text of ['ab', 'cd', 'ef']) yield Buffer.from(text);
  } finally {
    onEnd();
  }
}

async function peek(minBytes: number) {
  const { held, isWhole, chunks } = await peekChunks(toSource(), minBytes);
  const head = Buffer.concat(held).toString();
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return { head, isWhole, all: Buffer.concat(parts).toString() };
}

it('reads no further than asked, and then continues from the first byte', async () => {
  expect(await peek(0)).toEqual({ head: '', isWhole: false, all: 'abcdef' });
  expect(await peek(3)).toEqual({ head: 'abcd', isWhole: false, all: 'abcdef' });
  expect(await peek(6)).toEqual({ head: 'abcdef', isWhole: false, all: 'abcdef' });
  expect(await peek(7)).toEqual({ head: 'abcdef', isWhole: true, all: 'abcdef' });
});

it('ends the source when the reader stops', async () => {
  const onEnd = vi.fn();
  const { chunks } = await peekChunks(toSource(onEnd), 1);
  for await (const _chunk of chunks) break;
  expect(onEnd).toHaveBeenCalledTimes(1);
});
