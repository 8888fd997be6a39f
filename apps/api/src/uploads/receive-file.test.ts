import { describe, expect, it } from 'vitest';
import { createUploadSlots } from './receive-file.ts';

describe('createUploadSlots', () => {
  it('refuses uploads above the limit, and frees a slot whether the upload succeeds or fails', async () => {
    const slots = createUploadSlots(1);
    const { promise, resolve } = Promise.withResolvers<string>();
    const first = slots.run(() => promise);
    await expect(slots.run(async () => 'second')).rejects.toMatchObject({
      slug: 'too-many-uploads',
      headers: { 'retry-after': '2' },
    });
    resolve('first');
    expect(await first).toBe('first');
    await expect(slots.run(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    expect(await slots.run(async () => 'third')).toBe('third');
  });
});
