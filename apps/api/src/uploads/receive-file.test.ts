import { describe, expect, it } from 'vitest';
import { createUploadSlots } from './receive-file.ts';

describe('createUploadSlots', () => {
  it('refuses uploads above the limit, and frees a slot whether the upload succeeds or fails', async () => {
    const slots = createUploadSlots(1);
    const { promise, resolve } = Promise.withResolvers<string>();
    const first = slots.run('a', () => promise);
    await expect(slots.run('b', async () => 'second')).rejects.toMatchObject({
      slug: 'too-many-uploads',
      headers: { 'retry-after': '2' },
    });
    resolve('first');
    expect(await first).toBe('first');
    await expect(slots.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await slots.run('a', async () => 'third')).toBe('third');
  });

  it('leaves half of the slots to other keys, whatever one key sends', async () => {
    const slots = createUploadSlots(5);
    const { promise, resolve } = Promise.withResolvers<void>();
    const greedy = [slots.run('greedy', () => promise), slots.run('greedy', () => promise)];
    await expect(slots.run('greedy', async () => {})).rejects.toMatchObject({
      slug: 'too-many-uploads',
      message: 'At most 2 uploads of one key at a time; try again',
      headers: { 'retry-after': '2' },
    });
    expect(await slots.run('other', async () => 'stored')).toBe('stored');
    resolve();
    await Promise.all(greedy);
    expect(await slots.run('greedy', async () => 'stored')).toBe('stored');
  });
});
